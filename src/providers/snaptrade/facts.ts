/** What other rooms may know about SnapTrade. */
import type { ProviderFacts } from '../provider-facts.ts'

export const snaptradeFacts = {
  category: 'brokerage',
  defaultCurrency: 'USD',
  oneConsentPerInstitution: false,
  // Of its 250 calls a minute we use 200 (docs/providers/snaptrade.md, Errors and limits).
  budget: { calls: 200, windowMs: 60_000, reserve: 50 },
  // Its fair-use policy: activities once in 24 hours for an account (docs/providers/snaptrade.md, Errors and limits).
  scheduledReadHours: 24,
  isOpen: false,
  linkFields: {
    snaptradeUserId: { flag: 'snaptrade-user-id', value: 'X', help: 'the user id' },
    userSecret: { flag: 'user-secret', value: 'Y', help: 'the user secret', isSecret: true },
  },
  settings: {
    baseUrl: 'SNAPTRADE_BASE_URL',
    required: { clientId: 'SNAPTRADE_CLIENT_ID', consumerKey: 'SNAPTRADE_CONSUMER_KEY' },
    optional: {},
    fallbackFields: {},
    preset: {},
  },
  sandboxPort: 4030,
} as const satisfies ProviderFacts
