-- Requests the paths of a list round robin on every connection, and prints the result as one line of JSON.
--
--   wrk -s cycle.lua URL -- LIST [HEADER...]    LIST: a file with one path a line, or method, path and body with tabs between; HEADER: "Name: value"

local requests = {}
local index = 0

function init(arguments)
  for i = 2, #arguments do
    local name, value = arguments[i]:match("^([^:]+):%s*(.*)$")
    wrk.headers[name] = value
  end
  for line in io.lines(arguments[1]) do
    local method, path, body = line:match("^(%u+)\t([^\t]+)\t(.*)$")
    requests[#requests + 1] = wrk.format(method or "GET", path or line, nil, body)
  end
end

function request()
  index = index % #requests + 1
  return requests[index]
end

function done(summary, latency, _)
  local e = summary.errors
  io.write(string.format(
    '{"requests": %d, "duration_us": %d, "bytes": %d, "failed": %d, "p50_us": %d, "p99_us": %d}\n',
    summary.requests, summary.duration, summary.bytes, e.connect + e.read + e.write + e.status + e.timeout,
    latency:percentile(50), latency:percentile(99)))
end
