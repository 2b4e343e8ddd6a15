/**
 * The one way to render a table. Its roles are written out: on a narrow screen the style displays rows as
 * blocks, which would remove the implicit ones, and cells then begin with the names of their columns.
 */
import { type Html, type HtmlValue, html } from './html.ts'

export interface TableColumn<Row> {
  readonly name: string
  readonly show: (row: Row) => HtmlValue
  /** The cell says by itself what it is: it has no name before it, and does not head its row. */
  readonly isPlain?: true
  readonly className?: string
}

/** The first column heads the rows. @param label read out where the table begins. */
export function table<Row>(
  label: string,
  columns: readonly TableColumn<Row>[],
  rows: readonly Row[],
  className?: string,
): Html {
  return html`<table role="table" aria-label="${label}"${classOf(className)}>
<thead role="rowgroup"><tr role="row">${columns.map(({ name, className: look }) => html`<th role="columnheader" scope="col"${classOf(look)}>${name}</th>`)}</tr></thead>
<tbody role="rowgroup">${rows.map(
    (row) => html`<tr role="row">
${columns.map((column, at) => html`${renderCell(column, row, at === 0)}\n`)}</tr>`,
  )}</tbody>
</table>`
}

function renderCell<Row>(column: TableColumn<Row>, row: Row, isFirst: boolean): Html {
  const { name, show, isPlain = false, className } = column
  if (isFirst && !isPlain) {
    return html`<th role="rowheader" scope="row"${classOf(className)}>${show(row)}</th>`
  }
  const label = !isPlain && html` data-label="${name}"`
  return html`<td role="cell"${label}${classOf(className)}>${show(row)}</td>`
}

const classOf = (name: string | undefined) => name !== undefined && html` class="${name}"`
