/**
 * Whether somebody else's clock agrees with ours. Signatures, tokens and dates depend on it; a clock that is off is
 * otherwise found out from its strange consequences.
 */
import { type Finding, ok, warning } from './finding.ts'

const toleranceMs = 30_000
/** A `Date` header is cut to the second. */
const grainMs = 1000

/**
 * Compares the time that an answer told with the span in which it was asked for; nothing when it told none.
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
    return [ok(name, `ours and that of ${whose} agree`)]
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
