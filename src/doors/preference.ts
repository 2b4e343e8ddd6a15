/** What a client prefers (RFC 9110 §12.5.1). Programs that do not ask for HTML get none. */

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

/** The weight of a type that is named explicitly, from 0 to 1. */
function weightOf(accept: string, type: string): number {
  for (const item of accept.split(',').slice(0, 32)) {
    const [name, ...parameters] = item.split(';').map((part) => part.trim().toLowerCase())
    if (name !== type) continue
    const weight = parameters.find((parameter) => parameter.startsWith('q='))
    return weight === undefined ? 1 : toWeight(weight.slice(2))
  }
  return 0
}

function toWeight(text: string): number {
  return /^(?:0(?:\.\d{0,3})?|1(?:\.0{0,3})?)$/.test(text) ? Number(text) : 0
}
