/** What is left of a person's limits, on the usage page. Rendering only. */
import { type Bucket, operations } from '#contract/operations.ts'
import type { Provider } from '#contract/resources.ts'
import type { WindowState } from '#fast/port.ts'
import { factsOf } from '#providers/all-facts.ts'
import type { LimitsLeft, ReaderLimits } from '#usage/limits-left.ts'
import { foreignText, type Html, html } from '../html.ts'
import { toText, toWait } from './words.ts'

const buckets = [...new Set(operations.map(({ bucket }) => bucket))]

/** The operations of a bucket, as its name in the table. */
function nameBucket(bucket: Bucket): string {
  const names = operations
    .filter((operation) => operation.bucket === bucket)
    .map(({ title }) => title.replace(/^List /, ''))
  const text = names.join(', ')
  return text.charAt(0).toUpperCase() + text.slice(1)
}

export function renderLimits(limits: LimitsLeft): Html {
  const { readers, perMinute, atOnce } = limits
  return html`<h2>What is left now</h2>
<p>Each key and each agent has its own limits. A minute begins with the first request in it.</p>
<table role="table" aria-label="What is left in this minute" class="numbers">
<thead role="rowgroup"><tr role="row"><th role="columnheader" scope="col">Per minute</th>${buckets.map((bucket) => html`<th role="columnheader" scope="col">${nameBucket(bucket)}</th>`)}</tr></thead>
<tbody role="rowgroup">
<tr role="row"><th role="rowheader" scope="row">Limit</th>${buckets.map((bucket) => html`<td role="cell" data-label="${nameBucket(bucket)}">${perMinute[bucket] === 0 ? 'no limit' : toText(perMinute[bucket])}</td>`)}</tr>
${readers.map(renderReader)}
</tbody>
</table>
${atOnce > 0 && html`<p><small>Of ${nameBucket('heavy').toLowerCase()}, one key or agent may have ${atOnce} requests in progress at the same time.</small></p>`}
${renderProviders(limits)}`
}

function renderReader({ kind, name, left }: ReaderLimits): Html {
  return html`<tr role="row">
<th role="rowheader" scope="row"><span class="foreign">${foreignText(name)}</span> <small class="place">${kind}</small></th>
${buckets.map((bucket) => html`<td role="cell" data-label="${nameBucket(bucket)}">${describeWindow(left[bucket])}</td>`)}
</tr>`
}

function describeWindow(state: WindowState | null): string {
  if (state === null) return 'not known now'
  if (state.limit === 0) return 'no limit'
  const left = `${toText(state.remaining)} left`
  if (state.remaining === state.limit) return left
  return `${left}, all again in ${toWait(Math.max(1, Math.ceil(state.resetMs / 1000)))}`
}

const spans: Readonly<Record<number, string>> = { 60: 'minute', 3600: 'hour' }

/** The words for the time of a window. */
const toSpan = (seconds: number) => spans[seconds] ?? toWait(seconds)

function renderProviders({ providers }: LimitsLeft): Html | null {
  if (providers.length === 0) return null
  return html`<h2>At the providers</h2>
<p>These providers limit how often they may be asked. Answers from the cache cost nothing there.</p>
<ul>${providers.map(({ provider, left }) => html`<li>${nameProvider(provider)}: ${left === null ? 'not known now' : html`<strong>${toText(left.left)}</strong> of ${toText(left.calls)} requests left in this ${toSpan(left.windowSeconds)}, ${left.isShared ? 'for everybody on this server' : 'for your own key'}`}.</li>`)}</ul>`
}

function nameProvider(provider: Provider): string {
  return factsOf(provider).personal?.name ?? provider
}
