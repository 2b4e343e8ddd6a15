/** What other rooms may know about Akahu. */
import type { ProviderFacts } from '../provider-facts.ts'

export const akahuFacts = {
  category: 'banking',
  defaultCurrency: 'NZD',
  oneConsentPerInstitution: false,
  budget: null,
  scheduledReadHours: null,
  isOpen: false,
  linkFields: {
    userToken: { flag: 'user-token', value: 'X', help: 'the user token', isSecret: true },
  },
  settings: {
    baseUrl: 'AKAHU_BASE_URL',
    required: { appToken: 'AKAHU_APP_TOKEN', appSecret: 'AKAHU_APP_SECRET' },
    optional: {},
    fallbackFields: {},
    preset: { oauthUrl: 'AKAHU_OAUTH_URL' },
  },
  sandboxPort: 4020,
} as const satisfies ProviderFacts
