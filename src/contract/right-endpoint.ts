/** The sentences of `wrong_endpoint_for_category`: each names the endpoint that serves what was asked for. */
import type { ConnectionCategory } from './resources.ts'

export const rightEndpoint: Readonly<Record<ConnectionCategory, string>> = {
  banking: 'This is a banking connection; use /v1/transactions or /v1/balances',
  brokerage: 'This is a brokerage connection; use /v1/trades or /v1/holdings',
}

/** @param ids Of the brokerage accounts among those that balances were asked for. */
export function noBalancesOf(ids: readonly string[]): string {
  return `Balances are for banking accounts only; use /v1/holdings for these brokerage accounts: ${ids.join(', ')}`
}
