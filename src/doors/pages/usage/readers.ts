/** Which key or agent made how many requests of which kind, and what failed. Rendering only. */
import type { UsageReport } from '#usage/report.ts'
import { foreignText, type Html, html } from '../html.ts'
import { type TableColumn, table } from '../table.ts'
import { nameOperation, readerWords, toText } from './words.ts'

type Reader = UsageReport['readers'][number]

const mostShown = 30

export function renderReaders({ readers }: UsageReport): Html {
  return html`${table('Requests by key and agent', columns, readers.slice(0, mostShown), 'numbers')}
${readers.length > mostShown && html`<p><small>These are the ${mostShown} with the most requests of ${readers.length}. The file has all of them.</small></p>`}
${readers.some(({ kind }) => kind === 'before') && html`<p><small>Earlier requests are from before keys and agents were counted apart.</small></p>`}`
}

const columns: readonly TableColumn<Reader>[] = [
  { name: 'Key or agent', show: renderReader },
  { name: 'Requests', className: 'sum', show: ({ requests }) => toText(requests) },
  { name: 'From the cache', className: 'sum', show: ({ results }) => toText(results.HIT) },
  { name: 'Over a limit (429)', className: 'sum', show: ({ results }) => toText(results.limited) },
  { name: 'Refused', className: 'sum', show: ({ results }) => toText(results.refused) },
  { name: 'Failed', className: 'sum', show: ({ results }) => toText(results.failed) },
  { name: 'Cut off', className: 'sum', show: ({ results }) => toText(results.disconnected) },
]

/** The name, the kind, and what was asked for. */
function renderReader(reader: Reader): Html {
  const { kind, name, operations } = reader
  const asked = operations.map(
    ({ operation, requests }) => `${nameAsked(reader, operation)}: ${toText(requests)}`,
  )
  const who =
    name === null
      ? html`${readerWords[kind]}`
      : html`<span class="foreign">${foreignText(name)}</span> <small>${readerWords[kind]}</small>`
  return html`${who}<small class="place">${asked.join(', ')}</small>`
}

/** The title of an operation that this reader asked for. */
function nameAsked({ kind }: Reader, operation: Reader['operations'][number]['operation']) {
  return nameOperation(operation, kind === 'program' ? 'simplefin' : 'rest')
}
