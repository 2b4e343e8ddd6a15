/** What other rooms may know about Enable Banking. */
import { dayMs } from '#kernel/time.ts'
import type { ProviderFacts } from '../provider-facts.ts'

export const enablebankingFacts = {
  name: 'Enable Banking',
  secondFactor: 'Reconnect the bank here: it asks for the second factor on its own page.',
  covers: 'Banks in the European Union, Iceland, Liechtenstein and Norway',
  countries: [
    ...['AT', 'BE', 'BG', 'CY', 'CZ', 'DE', 'DK', 'EE', 'ES', 'FI', 'FR', 'GR', 'HR', 'HU', 'IE'],
    ...['IS', 'IT', 'LI', 'LT', 'LU', 'LV', 'MT', 'NL', 'NO', 'PL', 'PT', 'RO', 'SE', 'SI', 'SK'],
  ],
  category: 'banking',
  defaultCurrency: 'EUR',
  // Nothing tells two sign-ins of a person at one bank apart: the second renews the first.
  oneConsentPerInstitution: true,
  budget: null,
  // What banks allow without the person (docs/providers/enable-banking.md, Limits); people keep half of it.
  accountBudget: { calls: 4, windowMs: dayMs, reserve: 2, isDurable: true },
  scheduledReadHours: 24,
  isOpen: true,
  endsConsents: true,
  olderRows: {
    days: 89,
    words:
      'a bank mostly gives rows of the last 90 days, and older ones only within an hour after the consent',
  },
  whenIneligible:
    'An application sees the accounts alone that are linked with it. Link the accounts in the control panel of enablebanking.com first, then start again and choose the same accounts on the page of the bank.',
  personal: {
    name: 'Enable Banking',
    source: 'in the control panel of enablebanking.com, under API applications',
    asks: {
      ENABLEBANKING_APPLICATION_ID: 'application id',
      ENABLEBANKING_PRIVATE_KEY: 'private key, its whole file in base64 or as PEM in one line',
    },
    fixed: {},
    tokens: {},
    isByBrowser: true,
  },
  linkFields: {
    session: {
      flag: 'session',
      value: 'X',
      help: 'the id of an authorised session of the same application',
      isSecret: true,
      isOptional: true,
    },
    applicationId: {
      flag: 'application-id',
      value: 'Y',
      help: 'of an application of the person’s own; else that of the variables',
      isOptional: true,
      onPage: {
        name: 'applicationId',
        label: 'Application id',
        hint: 'Letters and digits with dashes, as the control panel shows it',
      },
    },
    privateKey: {
      flag: 'private-key',
      value: 'Z',
      help: 'the private key of that application: PEM, or base64 of its file',
      isSecret: true,
      isOptional: true,
      isLong: true,
      onPage: {
        name: 'privateKey',
        label: 'Private key',
        hint: 'The whole text of the .pem file',
      },
    },
  },
  settings: {
    baseUrl: 'ENABLEBANKING_BASE_URL',
    required: {
      applicationId: 'ENABLEBANKING_APPLICATION_ID',
      privateKey: 'ENABLEBANKING_PRIVATE_KEY',
    },
    optional: { countries: 'ENABLEBANKING_COUNTRIES' },
    fallbackFields: {},
    preset: {},
    files: { ENABLEBANKING_PRIVATE_KEY: 'ENABLEBANKING_PRIVATE_KEY_FILE' },
  },
  sandboxPort: 4060,
} as const satisfies ProviderFacts
