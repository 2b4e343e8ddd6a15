/** The activity of an account: who did what, when and from where. Rendering only. */
import type { AuditRow } from '#store/ports/audit.ts'
import { type Html, html } from '../html.ts'
import { icon } from '../icons.ts'
import { renderMoment } from '../moments.ts'
import { table } from '../table.ts'
import { addressOfEntry, describeActor, describeEntry, type Names } from './sentences.ts'

export interface ActivityOptions {
  readonly rows: readonly AuditRow[]
  readonly names: Names
  /** IANA name of the person's zone. */
  readonly zone: string
  /** The first page shows the newest entries. */
  readonly isFirst: boolean
  /** The path of the page with older entries; null: there is none. */
  readonly older: string | null
}

export function renderActivity({ rows, names, zone, isFirst, older }: ActivityOptions): Html {
  return html`<h1>Activity</h1>
<p>What was done with your account. If something here was not you, change the password under <a href="/settings">Settings</a>.</p>
${rows.length > 0 && html`<p class="downloads">${icon('download')}Download it all: <a href="/activity/download" download>CSV</a></p>`}
${rows.length === 0 ? html`<p>${isFirst ? 'Nothing has happened yet.' : 'There is nothing older.'}</p>` : renderTable(rows, names, zone)}
${(older !== null || !isFirst) && html`<p>${!isFirst && html`<a href="/activity">Newest</a> `}${older !== null && html`<a href="${older}">Older</a>`}</p>`}`
}

function renderTable(rows: readonly AuditRow[], names: Names, zone: string): Html {
  return table<AuditRow>(
    'Activity',
    [
      { name: 'When', isPlain: true, show: ({ at }) => renderMoment(at, zone) },
      {
        name: 'What',
        isPlain: true,
        className: 'answer',
        show: (row) => describeEntry(row, names),
      },
      { name: 'Who', show: describeActor },
      { name: 'From', className: 'answer', show: (row) => addressOfEntry(row) ?? '—' },
    ],
    rows,
  )
}
