/** What is left of a person's limits, on the usage page. Rendering only. */
import { type Bucket, operations } from '#contract/operations.ts'
import type { Provider } from '#contract/resources.ts'
import type { WindowState } from '#fast/port.ts'
import { toRetrySeconds } from '#kernel/retry-after.ts'
import { factsOf } from '#providers/all-facts.ts'
import { type LimitsLeft, mostReaders, type ReaderLimits } from '#usage/limits-left.ts'
import { foreignText, type Html, type HtmlValue, html } from '../html.ts'
import { type TableColumn, table } from '../table.ts'
import { toText, toWait } from './words.ts'

const buckets = [...new Set(operations.map(({ bucket }) => bucket))]

/** The operations of a bucket, as its name in the table. */
function nameBucket(bucket: Bucket): string {
  const names = operations
    .filter((operation) => operation.bucket === bucket)
    .map(({ title }) => title.replace(/^(?:List|Fetch) /, ''))
  const text = names.join(', ')
  return text.charAt(0).toUpperCase() + text.slice(1)
}

export function renderLimits(limits: LimitsLeft): Html {
  const { readers, perMinute, atOnce } = limits
  const limit: LimitRow = {
    head: 'Limit',
    cell: (bucket) => (perMinute[bucket] === 0 ? 'no limit' : toText(perMinute[bucket])),
  }
  return html`<h2>What is left now</h2>
<p>Each key and each agent has its own limits. A minute begins with the first request in it.</p>
${table('What is left in this minute', limitColumns, [limit, ...readers.map(toRow)], 'numbers')}
${readers.length >= mostReaders && html`<p><small>At most ${mostReaders} are shown: keys first, then the newest agents.</small></p>`}
${atOnce > 0 && html`<p><small>Of ${nameBucket('heavy').toLowerCase()}, one key or agent may have ${atOnce} requests in progress at the same time.</small></p>`}
${renderProviders(limits)}`
}

interface LimitRow {
  readonly head: HtmlValue
  readonly cell: (bucket: Bucket) => HtmlValue
}

const limitColumns: readonly TableColumn<LimitRow>[] = [
  { name: 'Per minute', show: ({ head }) => head },
  ...buckets.map((bucket) => ({
    name: nameBucket(bucket),
    show: ({ cell }: LimitRow) => cell(bucket),
  })),
]

function toRow({ kind, name, left }: ReaderLimits): LimitRow {
  return {
    head: html`<span class="foreign">${foreignText(name)}</span> <small class="place">${kind}</small>`,
    cell: (bucket) => html`${describeWindow(left[bucket])}${renderBucket(bucket, left[bucket])}`,
  }
}

function renderBucket(bucket: Bucket, state: WindowState | null): Html | null {
  if (state === null || state.limit === 0) return null
  return renderMeter(state.remaining, state.limit, `Left of ${nameBucket(bucket)}`)
}

function describeWindow(state: WindowState | null): string {
  if (state === null) return 'not known now'
  if (state.limit === 0) return 'no limit'
  const left = `${toText(state.remaining)} left`
  if (state.remaining === state.limit) return left
  return `${left}, all again in ${toWait(toRetrySeconds(state.resetMs))}`
}

/** What is left, for the eye; words say the same. */
const renderMeter = (left: number, whole: number, label: string): Html =>
  html`<meter min="0" max="${whole}" low="${Math.floor(whole / 5)}" value="${left}" aria-label="${label}"></meter>`

const spans: Readonly<Record<number, string>> = { 60: 'minute', 3600: 'hour', 86400: 'day' }

/** The words for the time of a window. */
const toSpan = (seconds: number) => spans[seconds] ?? toWait(seconds)

function renderProviders({ providers }: LimitsLeft): Html | null {
  if (providers.length === 0) return null
  return html`<h2>At the providers</h2>
<p>These providers limit how often they may be asked. Answers from the cache cost nothing there.</p>
<ul>${providers.map(({ provider, left }) => html`<li>${nameProvider(provider)}: ${left === null ? 'not known now' : html`<strong>${toText(left.left)}</strong> of ${toText(left.calls)} requests left in this ${toSpan(left.windowSeconds)}, ${left.isShared ? 'for everybody on this server' : 'for your own key'}`}.${left !== null && html` ${renderMeter(left.left, left.calls, `Left at ${nameProvider(provider)}`)}`}</li>`)}</ul>`
}

function nameProvider(provider: Provider): string {
  return factsOf(provider).personal?.name ?? provider
}
