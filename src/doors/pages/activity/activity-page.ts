/** The activity of an account: who did what, when and from where. Rendering only. */
import type { AuditRow } from '#store/ports/audit.ts'
import { type Html, html } from '../html.ts'
import { icon } from '../icons.ts'
import { renderMoment } from '../moments.ts'
import { table } from '../table.ts'
import { addressOfEntry, describeActor, describeEntry, type Names } from './sentences.ts'

/** What can be looked for, by the beginning of the names of actions. */
export const activityKinds = {
  account: { name: 'Sign-ins and account', prefix: 'account.' },
  connections: { name: 'Connections', prefix: 'connections.' },
  keys: { name: 'Keys', prefix: 'keys.' },
  programs: { name: 'Programs', prefix: 'programs.' },
  webhooks: { name: 'Webhooks', prefix: 'webhooks.' },
  consumers: { name: 'Fetched events', prefix: 'consumers.' },
  agents: { name: 'Agents', prefix: 'agent.' },
} as const

export type ActivityKind = keyof typeof activityKinds

export interface ActivityOptions {
  readonly rows: readonly AuditRow[]
  readonly names: Names
  /** IANA name of the person's zone. */
  readonly zone: string
  /** What is looked for; null: everything. */
  readonly about: ActivityKind | null
  /** The first page shows the newest entries. */
  readonly isFirst: boolean
  /** The path of the page with older entries; null: there is none. */
  readonly older: string | null
}

export function renderActivity(options: ActivityOptions): Html {
  const { rows, names, zone, about, isFirst, older } = options
  const newest = about === null ? '/activity' : `/activity?about=${about}`
  return html`<h1>Activity</h1>
<p>What was done with your account. If something here was not you, change the password under <a href="/settings">Settings</a>.</p>
${renderFilter(about)}
${rows.length > 0 && html`<p class="downloads">${icon('download')}Download it all: <a href="/activity/download" download>CSV</a></p>`}
${rows.length === 0 ? html`<p>${isFirst ? (about === null ? 'Nothing has happened yet.' : 'Nothing of this kind has happened.') : 'There is nothing older.'}</p>` : renderTable(rows, names, zone)}
${(older !== null || !isFirst) && html`<p>${!isFirst && html`<a href="${newest}">Newest</a> `}${older !== null && html`<a href="${older}">Older</a>`}</p>`}`
}

function renderFilter(about: ActivityKind | null): Html {
  const kinds = Object.entries(activityKinds)
  return html`<form method="get" action="/activity" class="filters">
<div><label for="about">About</label>
<select id="about" name="about"><option value="">Everything</option>${kinds.map(([kind, { name }]) => html`<option value="${kind}"${kind === about && html` selected`}>${name}</option>`)}</select></div>
<button type="submit" class="outline">Show</button>
</form>`
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
      { name: 'Who', className: 'whole', show: describeActor },
      { name: 'From', className: 'answer', show: (row) => addressOfEntry(row) ?? '—' },
    ],
    rows,
  )
}
