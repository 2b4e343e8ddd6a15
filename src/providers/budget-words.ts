/** How many requests a provider allows, in words for operators, where nothing is counted now. */
import type { Provider } from '#contract/resources.ts'
import { factsOf } from './all-facts.ts'

/** What a limit's window is called, by its seconds. */
export const budgetSpans: Readonly<Record<number, string>> = {
  60: 'minute',
  3600: 'hour',
  86400: 'day',
}

/** The limit of the whole provider, else that of each account there. */
export function describeBudget(provider: Provider): string {
  const { budget, accountBudget = null } = factsOf(provider)
  const known = budget ?? accountBudget
  if (known === null) return 'no known limit'
  const span = budgetSpans[known.windowMs / 1000] ?? 'window'
  const whose = budget === null ? ' for each account' : ''
  return `${known.calls} a ${span}${whose}, ${known.reserve} of them for people`
}
