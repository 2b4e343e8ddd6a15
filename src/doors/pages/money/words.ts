/** Why something could not be read, at the place where it would stand, and what to do. Pure. */
import type { ApiError } from '#contract/errors.ts'
import { factsOf } from '#providers/all-facts.ts'
import { findFailure } from '#providers/failure.ts'
import type { ConnectionRow } from '#store/ports/connections.ts'
import { describeWait } from '../describe-wait.ts'
import { foreignText, type Html, html } from '../html.ts'

/** @param error one for callers: its message may be shown. */
export function describeFailure(error: ApiError, provider: ConnectionRow['provider']): string {
  const { name } = factsOf(provider)
  switch (error.entry) {
    case 'plan_required':
      return 'Your plan does not include reading of data.'
    case 'professional_required':
      return 'Reading of brokers needs the Professional plan.'
    case 'rate_limited':
    case 'too_many_concurrent':
      return `You have read much in this minute. Try again in ${error.retryAfterSeconds ?? 60} seconds.`
    case 'balances_not_available':
      return `${name} does not tell balances.`
    case 'provider_not_configured':
      return `${name} is not set up on this server.`
    case 'service_unavailable':
      return 'The database of this server was unavailable. Try again shortly.'
    case 'internal':
      return 'It failed because of a mistake of this server, which was logged.'
    case 'provider_unavailable':
    case 'upstream_breaker_open':
      if (findFailure(error)?.kind === 'preparing')
        return `${name} is still preparing these data. Try again later.`
      return `${name} or the institution cannot be read now. Try again ${describeWait(error)}.`
    case 'account_not_found':
      return 'It has left its institution, or has another id there: read again.'
    case 'upstream_bad_request':
      return toSentence(error.message.replace(/^Upstream rejected request: /, ''))
    default:
      return foreignText([error.message, ...(error.details ?? [])].join('; '), 300)
  }
}

/** A reason of the provider, with a capital letter and a full stop. */
function toSentence(reason: string): string {
  const text = foreignText(reason, 300)
  return `${text.charAt(0).toUpperCase()}${text.slice(1)}${/[.!?…]$/.test(text) ? '' : '.'}`
}

/** It is told apart from an amount by a word as well as by colour. */
export const renderTrouble = (sentence: string): Html =>
  html`<p class="trouble"><strong>Not known.</strong> ${sentence}</p>`
