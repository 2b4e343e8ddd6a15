/** What other rooms may know about Up. */
import { hourMs } from '#kernel/time.ts'
import type { ProviderFacts } from '../provider-facts.ts'

export const upFacts = {
  name: 'Up',
  secondFactor: 'Open the Up app and confirm the sign-in there; then refresh the connection here.',
  covers: 'The Australian bank Up',
  countries: ['AU'],
  category: 'banking',
  defaultCurrency: 'AUD',
  // One token reaches one customer, who is one connection.
  oneConsentPerInstitution: false,
  // 1,000 calls an hour for a token; background work leaves 100 (docs/providers/up.md, Errors and limits).
  budget: { calls: 1000, windowMs: hourMs, reserve: 100, isByClock: true },
  scheduledReadHours: null,
  isOpen: true,
  endsConsents: false,
  personal: {
    name: 'Up',
    source: 'in the Up app: Data sharing, Personal Access Token',
    asks: {},
    fixed: {},
    tokens: {
      token: { variable: 'UP_TOKEN', flag: 'up-token', asks: 'personal access token (up:yeah:…)' },
    },
  },
  linkFields: {
    token: {
      flag: 'token',
      value: 'X',
      help: 'the personal access token',
      isSecret: true,
      begins: ['up:'],
      onPage: { name: 'upToken', label: 'Personal access token', hint: 'It begins with up:yeah:' },
    },
  },
  settings: {
    baseUrl: 'UP_BASE_URL',
    required: {},
    optional: {},
    fallbackFields: {},
    preset: {},
  },
  sandboxPort: 4040,
} as const satisfies ProviderFacts
