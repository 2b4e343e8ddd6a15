/** What a client prefers (RFC 9110 §12.5). Programs that do not ask for HTML get none. */

/** True when `text/html` weighs more than JSON: so do browsers, unlike `curl` and API clients. */
export function prefersPage(accept: string | undefined): boolean {
  if (accept === undefined) return false
  const page = weightOf(accept, 'text/html')
  return page > 0 && page > weightOf(accept, 'application/json')
}

/** True when `text/event-stream` is named and weighs as much as JSON. */
export function wantsStream(accept: string | undefined): boolean {
  if (accept === undefined) return false
  const stream = weightOf(accept, 'text/event-stream')
  return stream > 0 && stream >= weightOf(accept, 'application/json')
}

/** `gzip` or `*` is named, weighs more than zero, and no less than a named `identity`. */
export function acceptsGzip(accept: string | undefined): boolean {
  if (accept === undefined) return false
  const named = findWeight(accept, 'gzip') ?? findWeight(accept, 'x-gzip')
  const weight = named ?? weightOf(accept, '*')
  return weight > 0 && weight >= weightOf(accept, 'identity')
}

/** From 0 to 1; 0 for what is not named. */
const weightOf = (accept: string, name: string): number => findWeight(accept, name) ?? 0

/** The weight of a name that is there explicitly; null: it is not. */
function findWeight(accept: string, name: string): number | null {
  for (const item of accept.split(',').slice(0, 32)) {
    const [own, ...parameters] = item.split(';').map((part) => part.trim().toLowerCase())
    if (own !== name) continue
    const weight = parameters.find((parameter) => parameter.startsWith('q='))
    return weight === undefined ? 1 : toWeight(weight.slice(2))
  }
  return null
}

function toWeight(text: string): number {
  return /^(?:0(?:\.\d{0,3})?|1(?:\.0{0,3})?)$/.test(text) ? Number(text) : 0
}
