/** Counted requests by day, key, agent, operation and result, and what is left of limits. Rendering only. */
import type { UsageDoor, UsageResult } from '#contract/usage.ts'
import type { LimitsLeft } from '#usage/limits-left.ts'
import type { UsageReport } from '#usage/report.ts'
import { type Html, html } from '../html.ts'
import { icon } from '../icons.ts'
import { leadingButton } from '../layout.ts'
import { type TableColumn, table } from '../table.ts'
import { countFailed, renderChart, renderDayTable } from './chart.ts'
import { renderLimits } from './limits.ts'
import { renderReaders } from './readers.ts'
import { nameOperation, toText } from './words.ts'

export interface UsageOptions {
  readonly report: UsageReport
  readonly limits: LimitsLeft
}

export function renderUsage({ report, limits }: UsageOptions): Html {
  return html`<h1>Usage</h1>
${report.requests === 0 ? renderNothing(report, limits) : renderCounts(report)}
${renderLimits(limits)}`
}

function renderNothing({ days }: UsageReport, { readers }: LimitsLeft): Html {
  return html`<p>Requests of your programs and agents are counted here by day. In the last ${days.length} days there was none.</p>
${
  readers.length === 0
    ? html`<p class="actions">${leadingButton('/keys', 'Create a key')}</p>`
    : html`<p class="actions">${leadingButton('/doc', 'See what can be asked for')}</p>`
}`
}

function renderCounts(report: UsageReport): Html {
  return html`<p><strong>${toText(report.requests)}</strong> ${report.requests === 1 ? 'request' : 'requests'} in the last ${report.days.length} days. Days are those of ${report.timezone}; the newest requests may be ten seconds behind.</p>
${renderChart(report)}
${renderDayTable(report)}
<p class="downloads">${icon('download')}CSV: <a href="/usage/download" download>each day by result</a> <a href="/usage/download/readers" download>each key and agent by operation and result</a></p>
<h2>By key and agent</h2>
${renderReaders(report)}
<h2>By operation</h2>
${table('Requests by operation', operationColumns, report.operations, 'numbers')}
<h2>By result</h2>
${renderResults(report)}`
}

const operationColumns: readonly TableColumn<UsageReport['operations'][number]>[] = [
  { name: 'Operation', show: ({ operation, door }) => nameOperation(operation, door) },
  { name: 'Client', show: ({ door }) => clientWords[door] },
  { name: 'Requests', className: 'sum', show: ({ requests }) => toText(requests) },
  { name: 'From the cache', className: 'sum', show: ({ results }) => toText(results.HIT) },
  { name: 'Over a limit (429)', className: 'sum', show: ({ results }) => toText(results.limited) },
  {
    name: 'Refused, failed or cut off',
    className: 'sum',
    show: ({ results }) => toText(countFailed(results)),
  },
]

const clientWords: Readonly<Record<UsageDoor, string>> = {
  rest: 'programs',
  mcp: 'agents',
  simplefin: 'SimpleFIN',
  dashboard: 'you, on these pages',
}

const resultWords: Readonly<Record<UsageResult, string>> = {
  HIT: 'Answered from the cache',
  MISS: 'Computed, then kept in the cache',
  BYPASS: 'Computed, without the cache',
  limited: 'Refused: over a limit (429)',
  refused: 'Refused for another reason (400 to 499)',
  failed: 'Failed here or at the provider (500 to 599)',
  disconnected: 'Cut off: the program or agent left before the answer (499)',
}

function renderResults({ results }: UsageReport): Html {
  const rows = Object.entries(resultWords) as [UsageResult, string][]
  return html`<dl class="facts numbers">${rows.map(([name, words]) => html`<dt>${words}</dt><dd>${toText(results[name])}</dd>`)}</dl>`
}
