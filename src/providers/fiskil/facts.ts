/** What other rooms may know about Fiskil. */
import type { ProviderFacts } from '../provider-facts.ts'

export const fiskilFacts = {
  name: 'Fiskil',
  secondFactor: 'Reconnect it: the bank sends the code while its page is open.',
  covers: 'Banks in Australia',
  countries: ['AU'],
  category: 'banking',
  defaultCurrency: 'AUD',
  // An end user's newest consent at an institution replaces the others.
  oneConsentPerInstitution: true,
  leavesFormerConsent: true,
  budget: null,
  scheduledReadHours: null,
  isOpen: false,
  endsConsents: true,
  linkFields: { endUserId: { flag: 'end-user-id', value: 'X', help: 'the end user' } },
  settings: {
    baseUrl: 'FISKIL_BASE_URL',
    required: { clientId: 'FISKIL_CLIENT_ID', clientSecret: 'FISKIL_CLIENT_SECRET' },
    optional: { webhookSecret: 'FISKIL_WEBHOOK_SECRET', teamId: 'FISKIL_TEAM_ID' },
    fallbackFields: { teamId: 'clientId' },
    preset: { version: 'FISKIL_VERSION' },
  },
  sandboxPort: 4010,
} as const satisfies ProviderFacts
