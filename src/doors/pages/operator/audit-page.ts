/** The audit with its filters. Rendering only. */
import { foreignText, type Html, html } from '../html.ts'
import { field } from '../layout.ts'
import { table } from '../table.ts'
import type { AdminRow } from './api.ts'
import { renderUtc } from './frame-page.ts'

type AuditLine = AdminRow<'/audit'>

export function renderAudit(
  rows: readonly AuditLine[],
  {
    user,
    action,
    next,
  }: { readonly user: string; readonly action: string; readonly next: string | null },
): Html {
  return html`<h1>Audit</h1>
<form method="get" action="/audit" class="filters">
${field({ name: 'user', label: 'Person, by address or id', type: 'text', autocomplete: 'off', value: user, isOptional: true })}
${field({ name: 'action', label: 'Action begins with, e.g. keys.', type: 'text', autocomplete: 'off', value: action, isOptional: true })}
<button type="submit" class="outline">Show</button></form>
${
  rows.length === 0
    ? html`<p>No entry matches.</p>`
    : table<AuditLine>(
        'Audit',
        [
          { name: 'At', className: 'whole', show: ({ at }) => renderUtc(at) },
          { name: 'By', show: (one) => foreignText(one.actor) },
          { name: 'Action', className: 'whole', show: (one) => html`<code>${one.action}</code>` },
          {
            name: 'About',
            className: 'answer',
            show: ({ userId, subject }) =>
              html`${foreignText(subject)}${userId !== null && html` <small class="place"><a href="/people/${userId}">${userId}</a></small>`}`,
          },
        ],
        rows,
      )
}
${next !== null && html`<p><a href="/audit?${new URLSearchParams({ user, action, cursor: next }).toString()}">Older</a></p>`}`
}
