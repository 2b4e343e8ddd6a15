/** The health of an endpoint in words. Pure. */
import { unreachable } from '#kernel/unreachable.ts'
import type { EndpointRow } from '#store/ports/endpoints.ts'

export interface HealthWords {
  readonly name: string
  readonly sentence: string
}

const disabledSentences: Readonly<Record<NonNullable<EndpointRow['disabledReason']>, string>> = {
  owner: 'It was disabled by you or by the operator.',
  gone: 'Your receiver answered 410 Gone, so nothing is sent any more.',
  failing: 'Every attempt of five days failed, so nothing is sent any more.',
}

/** @param isUntried nothing was sent to it yet. */
export function describeHealth(
  { url, health, disabledReason, failures }: EndpointRow,
  isUntried = false,
): HealthWords {
  if (url === '') {
    const sentence =
      'Its address cannot be decrypted, so nothing is sent: remove it and add it again.'
    return { name: 'Damaged', sentence }
  }
  switch (health) {
    case 'healthy':
      return isUntried
        ? { name: 'Ready', sentence: 'Nothing was sent yet.' }
        : { name: 'Working', sentence: 'No attempt is failing.' }
    case 'degraded':
      return {
        name: 'Failing',
        sentence: `${failures === 1 ? 'The last attempt' : `The last ${failures} attempts`} failed. Events are sent again later.`,
      }
    case 'paused':
      return {
        name: 'Paused',
        sentence: `The last ${failures} attempts failed. Until one succeeds, only the oldest event is tried.`,
      }
    case 'disabled':
      return {
        name: 'Disabled',
        sentence: `${disabledSentences[disabledReason ?? 'owner']} Events that occur meanwhile are kept for a replay.`,
      }
    default:
      return unreachable(health)
  }
}
