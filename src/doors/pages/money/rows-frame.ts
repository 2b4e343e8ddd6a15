/** What stands around the rows of an account: how many they are, what follows, and the files of them. */
import type { ExportFormat } from '#exports/exporter.ts'
import { formatsOf } from '#exports/make-exporter.ts'
import { factsOf } from '#providers/all-facts.ts'
import { type Html, html } from '../html.ts'
import { icon } from '../icons.ts'
import { toQueryText } from './own-reads.ts'
import type { Rows } from './read-money.ts'
import { isFiltered, toPath } from './row-filter.ts'
import type { MoneyViewOptions } from './view-options.ts'

/** @param shown rows that the filter leaves. */
export function renderCount(
  options: MoneyViewOptions,
  { data, pagination, truncated }: Rows<unknown>,
  shown: number,
): Html {
  const { filter } = options
  const { offset, hasMore } = pagination
  const rows = data.length === 0 ? 'No rows' : data.length === 1 ? '1 row' : `${data.length} rows`
  const isMatched = data.length > 0 && isFiltered(filter)
  const place = offset > 0 ? ` after the first ${offset}` : ''
  return html`<p>${isMatched ? `${shown} of ${rows}` : rows}${place}${isMatched && ' match'}. ${hasMore ? html`<strong>There are more</strong>: these are not all.` : offset === 0 ? (describeOlder(options) ?? (data.length > 0 && 'These are all of that time.')) : 'There are no more.'}${truncated && ' The provider was not read to the end.'}</p>`
}

/** Older rows than its provider gives may exist at the bank; null: nothing of that time is older. */
function describeOlder({ row, days, today }: MoneyViewOptions): string | null {
  const { olderRows } = factsOf(row.provider)
  const { from } = days
  const isOlder = (first: number) =>
    from !== null && from < today.subtract({ days: first }).toString()
  return olderRows !== undefined && isOlder(olderRows.days)
    ? `These are all that is given of that time: ${olderRows.words}.`
    : null
}

export function renderMore(
  { account, filter }: MoneyViewOptions,
  { pagination }: Rows<unknown>,
): Html {
  const { offset, limit, hasMore } = pagination
  const path = `/money/${account.id}`
  return html`<p class="more">${offset > 0 && html`<a href="${toPath(path, { ...filter, offset: 0 })}">Newest</a> `}${hasMore && html`<a href="${toPath(path, { ...filter, offset: offset + limit })}">Load more</a>`}</p>`
}

const formatNames: Readonly<Record<ExportFormat, string>> = { csv: 'CSV', ofx: 'OFX', json: 'JSON' }

/** Every row of the time that the filter leaves, also those that the page does not show yet. */
export function renderDownloads({ account, category, filter, days }: MoneyViewOptions): Html {
  const formats = formatsOf(category)
  const { search, category: kind, flow } = filter
  const toTarget = (format: ExportFormat) =>
    `/money/${account.id}/download?${toQueryText({
      format,
      ...days,
      q: search || null,
      category: kind || null,
      flow: flow || null,
    })}`
  return html`<p class="downloads">${icon('download')}Download all ${isFiltered(filter) ? 'that match' : 'of this time'}: ${formats.map((format) => html`<a href="${toTarget(format)}" download>${formatNames[format]}</a> `)}</p>`
}
