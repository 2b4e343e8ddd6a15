/**
 * Whether the clock of another system agrees with ours. Signatures, tokens and dates depend on it, and a
 * wrong clock is otherwise hard to recognise from its effects.
 */
import { type Finding, ok, warning } from './finding.ts'

const toleranceMs = 30_000
/** A `Date` header has whole seconds. */
const grainMs = 1000

/**
 * Compares the time in an answer with the interval between request and answer; no finding when the answer has
 * no time.
 * @param span in milliseconds since the epoch, by our clock.
 */
export function compareClocks(
  name: string,
  whose: string,
  theirTimeMs: number | null,
  span: { readonly asked: number; readonly answered: number },
): readonly Finding[] {
  if (theirTimeMs === null) return []
  const ahead = Math.max(0, theirTimeMs - span.answered)
  const behind = Math.max(0, span.asked - grainMs - theirTimeMs)
  if (ahead <= toleranceMs && behind <= toleranceMs) {
    return [ok(name, `our clock and that of ${whose} agree`)]
  }
  const difference = ahead > 0 ? `${toSeconds(ahead)} s ahead of` : `${toSeconds(behind)} s behind`
  return [
    warning(
      name,
      `the clock of ${whose} is ${difference} ours`,
      'Let both machines keep their time by NTP (timedatectl status)',
    ),
  ]
}

const toSeconds = (ms: number) => Math.round(ms / 1000)
