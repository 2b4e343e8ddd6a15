/** The activity of an account: who did what, when and from where. Rendering only. */
import type { AuditRow } from '#store/ports/audit.ts'
import { type Html, html } from '../html.ts'
import { renderMoment } from '../moments.ts'
import { addressOfEntry, describeActor, describeEntry, type Names } from './sentences.ts'

export interface ActivityParts {
  readonly rows: readonly AuditRow[]
  readonly names: Names
  /** IANA name of the person's zone. */
  readonly zone: string
  /** The first page shows the newest entries. */
  readonly isFirst: boolean
  /** The path of the page with older entries; null: there is none. */
  readonly older: string | null
}

const columns = ['When', 'What', 'Who', 'From']

/** Explicit roles: on a narrow screen rows are displayed as blocks. */
export function renderActivity({ rows, names, zone, isFirst, older }: ActivityParts): Html {
  return html`<h1>Activity</h1>
<p>What was done with your account. If something here was not you, change the password under <a href="/settings">Settings</a>.</p>
${rows.length === 0 ? html`<p>${isFirst ? 'Nothing has happened yet.' : 'There is nothing older.'}</p>` : renderTable(rows, names, zone)}
${(older !== null || !isFirst) && html`<p>${!isFirst && html`<a href="/activity">Newest</a> `}${older !== null && html`<a href="${older}">Older</a>`}</p>`}`
}

function renderTable(rows: readonly AuditRow[], names: Names, zone: string): Html {
  return html`<table role="table" aria-label="Activity">
<thead role="rowgroup"><tr role="row">${columns.map((name) => html`<th role="columnheader" scope="col">${name}</th>`)}</tr></thead>
<tbody role="rowgroup">${rows.map((row) => renderRow(row, names, zone))}</tbody>
</table>`
}

function renderRow(row: AuditRow, names: Names, zone: string): Html {
  return html`<tr role="row">
<td role="cell">${renderMoment(row.at, zone)}</td>
<td role="cell" class="answer">${describeEntry(row, names)}</td>
<td role="cell" data-label="Who">${describeActor(row)}</td>
<td role="cell" data-label="From" class="answer">${addressOfEntry(row) ?? '—'}</td>
</tr>`
}
