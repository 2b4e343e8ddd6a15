/**
 * What a key may be limited to (reading R43). An operation's row names the one that it needs; a key without
 * scopes has all of them. The scopes of OAuth tokens are others: `src/auth/scopes.ts`.
 */

/** In the order in which documents and pages list them. */
export const keyScopes = [
  'accounts',
  'balances',
  'transactions',
  'holdings',
  'trades',
  'events',
] as const

export type KeyScope = (typeof keyScopes)[number]
