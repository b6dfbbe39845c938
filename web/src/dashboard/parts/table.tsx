// A table of a page. Where it is narrow, each row folds into lines of two columns.

import { type ReactNode, useId } from "react";

export interface Column<Row> {
  name: string;
  /** The name is for screen readers only. */
  isNameHidden?: boolean;
  /** Whether the column takes the space that the others leave. */
  isMain?: boolean;
  /** Whether the folded table has no such column. */
  isWideOnly?: boolean;
  /** At the end of the line: numbers and buttons. */
  isAtEnd?: boolean;
  /** Whether its digits have one width. */
  isNumber?: boolean;
  cell: (row: Row) => ReactNode;
}

interface Props<Row> {
  label: string;
  columns: Column<Row>[];
  rows: Row[];
  keyOf: (row: Row) => string;
  /** Class of a row, such as `off` for what is not in force. */
  classOf?: (row: Row) => string | undefined;
}

/** The roles are explicit because `display` of the folded table removes the native ones. */
export function Table<Row>({ label, columns, rows, keyOf, classOf }: Props<Row>) {
  const id = useId();
  return (
    <div className="tablebox">
      <table className="table" role="table" aria-labelledby={id}>
        <caption className="unseen" id={id}>
          {label}
        </caption>
        <thead role="rowgroup">
          <tr role="row">
            {columns.map(({ name, isNameHidden, ...column }) => (
              <th key={name} role="columnheader" scope="col" className={classes(column)}>
                {isNameHidden ? <span className="unseen">{name}</span> : name}
              </th>
            ))}
          </tr>
        </thead>
        <tbody role="rowgroup">
          {rows.map((row) => (
            <tr key={keyOf(row)} role="row" className={classOf?.(row)}>
              {columns.map((column) => (
                <td key={column.name} role="cell" className={classes(column)}>
                  {column.cell(row)}
                </td>
              ))}
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}

function classes({ isMain, isWideOnly, isAtEnd, isNumber }: Pick<Column<never>, "isMain" | "isWideOnly" | "isAtEnd" | "isNumber">): string | undefined {
  const all = [isMain === true && "main-column", isWideOnly === true && "wide-only", isAtEnd === true && "at-end", isNumber === true && "number"];
  return all.filter((name) => name !== false).join(" ") || undefined;
}
