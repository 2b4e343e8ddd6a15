/** What other rooms may know about Akahu. */
import type { ProviderFacts } from '../provider-facts.ts'

export const akahuFacts = {
  name: 'Akahu',
  secondFactor:
    'Sign in at my.akahu.nz, open Connections and give the code that your bank sends; then refresh the connection here.',
  covers: 'Banks in New Zealand',
  countries: ['NZ'],
  category: 'banking',
  defaultCurrency: 'NZD',
  oneConsentPerInstitution: false,
  budget: null,
  scheduledReadHours: null,
  isOpen: true,
  endsConsents: true,
  personal: {
    name: 'Akahu',
    source: 'at my.akahu.nz under Developers',
    asks: { AKAHU_APP_TOKEN: 'app token (app_token_…)' },
    fixed: {},
    tokens: {
      userToken: {
        variable: 'AKAHU_USER_TOKEN',
        flag: 'akahu-user-token',
        asks: 'user token (user_token_…)',
      },
    },
  },
  linkFields: {
    userToken: {
      flag: 'user-token',
      value: 'X',
      help: 'the user token',
      isSecret: true,
      begins: ['user_token_'],
      onPage: { name: 'userToken', label: 'User token', hint: 'It begins with user_token_' },
    },
    appToken: {
      flag: 'app-token',
      value: 'Z',
      help: 'the token of the person’s own app; AKAHU_APP_TOKEN when absent',
      isSecret: true,
      begins: ['app_token_'],
      isOptional: true,
      onPage: {
        name: 'appToken',
        label: 'App token',
        hint: 'It begins with app_token_. Empty: the one of this server',
      },
    },
  },
  settings: {
    baseUrl: 'AKAHU_BASE_URL',
    required: { appToken: 'AKAHU_APP_TOKEN' },
    optional: { appSecret: 'AKAHU_APP_SECRET' },
    fallbackFields: {},
    preset: { oauthUrl: 'AKAHU_OAUTH_URL' },
  },
  sandboxPort: 4020,
} as const satisfies ProviderFacts
