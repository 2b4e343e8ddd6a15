/**
 * Where data flow: from banks and brokers through Tributary to programs, agents and endpoints. The width of a
 * line is its traffic of the last 30 days; red is what needs the person. The same numbers stand in a table.
 */
import { type Html, type HtmlValue, html } from '../html.ts'
import { table } from '../table.ts'
import { toText } from '../usage/words.ts'

export interface RiverEnd {
  readonly name: string
  readonly path: string
  /** Syncs, requests or deliveries of the last 30 days. */
  readonly traffic: number
  readonly unit: 'sync' | 'request' | 'delivery'
  /** The traffic is at least this much: more is not counted. */
  readonly isCut?: boolean
  readonly isTroubled: boolean
}

export interface River {
  readonly sources: readonly RiverEnd[]
  /** Keys, agents and programs, and the person on the pages. */
  readonly readers: readonly RiverEnd[]
  readonly endpoints: readonly RiverEnd[]
}

/** Units of the drawing: the height of a row in pixels, as the lists beside it have it (pages.css). */
const rowHeight = 40
const width = 100
const widest = 22
const mostRows = 8
/** This many rows are left for the readers where there are many endpoints. */
const leastReaders = 5
/** The width of the invisible line that takes the pointer for a thin one. */
const hoverWidth = 14

export function renderRiver(river: River): Html | null {
  const left = fold(river.sources, mostRows, '/connections')
  const right = foldRight(river)
  if (left.length === 0 || right.length === 0) return null
  const rows = Math.max(left.length, right.length)
  const height = rows * rowHeight
  const most = Math.max(1, ...[...left, ...right].map(({ traffic }) => traffic))
  const draw = (ends: readonly RiverEnd[], isLeft: boolean) => {
    const sizes = ends.map(({ traffic }) => toWidth(traffic, most))
    const whole = sizes.reduce((sum, size) => sum + size, 0)
    let top = height / 2 - whole / 2
    return ends.map((end, at) => {
      const size = sizes[at] ?? 1
      const middle = top + size / 2
      top += size
      const y = ((at + 0.5) * height) / ends.length
      const [from, to] = isLeft ? [0, width / 2] : [width, width / 2]
      const bend = isLeft ? width / 4 : (3 * width) / 4
      const path = `M${from} ${round(y)}C${bend} ${round(y)} ${bend} ${round(middle)} ${to} ${round(middle)}`
      return html`<g><title>${end.name}: ${describeTraffic(end)}${end.isTroubled && ', needs you'}</title><path class="hover" d="${path}" stroke-width="${Math.max(hoverWidth, Math.ceil(size))}"/><path class="${end.isTroubled ? 'bad' : 'good'}" d="${path}" stroke-width="${round(size)}"/></g>`
    })
  }
  return html`<h2 id="river">Where your data flow</h2>
<figure class="river" aria-labelledby="river">
<div class="flow">
${renderEnds(left)}
<svg viewBox="0 0 ${width} ${height}" preserveAspectRatio="none" height="${height}" role="img" aria-label="${describeRiver(left, right)}">${draw(left, true)}${draw(right, false)}</svg>
${renderEnds(right)}
</div>
<details><summary>The same numbers as a table</summary>
${table<RiverEnd & { readonly way: string }>(
  'Traffic of the last 30 days',
  [
    { name: 'Name', show: ({ name, path }) => html`<a href="${path}" class="foreign">${name}</a>` },
    { name: 'Direction', show: ({ way }) => way },
    { name: 'Traffic', className: 'sum', show: describeTraffic },
    {
      name: 'State',
      show: ({ isTroubled }) =>
        isTroubled ? html`<strong class="trouble">needs you</strong>` : 'well',
    },
  ],
  [...left.map((end) => ({ ...end, way: 'in' })), ...right.map((end) => ({ ...end, way: 'out' }))],
  'numbers',
)}</details>
</figure>`
}

/** Readers and endpoints are folded separately: their traffic has different units. */
function foldRight({ readers, endpoints }: River): readonly RiverEnd[] {
  const forReaders = Math.max(leastReaders, mostRows - endpoints.length)
  const shown = fold(readers, forReaders, '/usage')
  return [...shown, ...fold(endpoints, mostRows - shown.length, '/webhooks')]
}

/** Everything beyond this many rows is one, which leads to the whole list. */
function fold(ends: readonly RiverEnd[], most: number, path: string): readonly RiverEnd[] {
  if (ends.length <= most) return ends
  const rest = ends.slice(most - 1)
  const [first] = rest
  if (first === undefined) return ends
  return [
    ...ends.slice(0, most - 1),
    {
      unit: first.unit,
      path,
      name: `${rest.length} others`,
      traffic: rest.reduce((sum, { traffic }) => sum + traffic, 0),
      isCut: rest.some(({ isCut = false }) => isCut),
      isTroubled: rest.some(({ isTroubled }) => isTroubled),
    },
  ]
}

/** Unused: a thin line. */
const toWidth = (traffic: number, most: number) =>
  traffic === 0 ? 1 : Math.max(2, Math.sqrt(traffic / most) * widest)

const renderEnds = (ends: readonly RiverEnd[]): Html =>
  html`<ul>${ends.map((end) => html`<li><a href="${end.path}" class="foreign">${end.name}</a> <small class="traffic${end.isTroubled && ' trouble'}">${describeTraffic(end)}</small></li>`)}</ul>`

const plurals = { sync: 'syncs', request: 'requests', delivery: 'deliveries' } as const

function describeTraffic({ traffic, unit, isCut = false }: RiverEnd): HtmlValue {
  return `${toText(traffic)}${isCut ? ' or more' : ''} ${traffic === 1 && !isCut ? unit : plurals[unit]}`
}

function describeRiver(left: readonly RiverEnd[], right: readonly RiverEnd[]): string {
  const list = (ends: readonly RiverEnd[]) =>
    ends.map((end) => `${end.name}: ${describeTraffic(end)}`).join('; ')
  return `In the last 30 days. From ${list(left)}. To ${list(right)}`
}

const round = (value: number) => value.toFixed(1)
