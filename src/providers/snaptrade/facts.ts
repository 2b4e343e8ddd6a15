/** What other rooms may know about SnapTrade. */
import { minuteMs } from '#kernel/time.ts'
import type { ProviderFacts } from '../provider-facts.ts'

export const snaptradeFacts = {
  name: 'SnapTrade',
  secondFactor:
    'Reconnect it: the broker asks for the code on its page. With a personal key, do so in the Dashboard of SnapTrade; then refresh the connection here.',
  covers: 'Brokers in the United States, Canada and elsewhere',
  countries: null,
  category: 'brokerage',
  defaultCurrency: 'USD',
  oneConsentPerInstitution: false,
  // We use 200 of its 250 calls a minute for a key (docs/providers/snaptrade.md, Errors and limits).
  budget: { calls: 200, windowMs: minuteMs, reserve: 50 },
  // We use 9 of its 10 calls a minute for an account, by personal keys. A longer sync waits for the next.
  accountBudget: { calls: 9, windowMs: minuteMs, reserve: 2, backgroundWaitMs: minuteMs },
  // Its fair-use policy: activities once in 24 h an account (docs/providers/snaptrade.md, Errors and limits).
  scheduledReadHours: 24,
  isOpen: true,
  endsConsents: true,
  personal: {
    name: 'SnapTrade',
    source: 'on the API Key page of its Dashboard (a Personal key)',
    asks: { SNAPTRADE_CLIENT_ID: 'client id', SNAPTRADE_CONSUMER_KEY: 'consumer key' },
    fixed: { SNAPTRADE_KEY: 'personal' },
    tokens: {},
  },
  linkFields: {
    snaptradeUserId: {
      flag: 'snaptrade-user-id',
      value: 'X',
      help: 'with a commercial key: the user id',
      isOptional: true,
    },
    userSecret: {
      flag: 'user-secret',
      value: 'Y',
      help: 'with a commercial key: the user secret',
      isSecret: true,
      isOptional: true,
    },
    clientId: {
      flag: 'client-id',
      value: 'X',
      help: 'of a personal key; without it the one of the variables',
      isOptional: true,
    },
    consumerKey: {
      flag: 'consumer-key',
      value: 'Y',
      help: 'the consumer key of a personal key',
      isSecret: true,
      isOptional: true,
    },
  },
  settings: {
    baseUrl: 'SNAPTRADE_BASE_URL',
    required: { clientId: 'SNAPTRADE_CLIENT_ID', consumerKey: 'SNAPTRADE_CONSUMER_KEY' },
    optional: {},
    fallbackFields: {},
    preset: { keyKind: 'SNAPTRADE_KEY' },
  },
  sandboxPort: 4030,
} as const satisfies ProviderFacts
