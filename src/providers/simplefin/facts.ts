/** What other rooms may know about SimpleFIN. */
import { dayMs } from '#kernel/time.ts'
import type { ProviderFacts } from '../provider-facts.ts'

/** The server's own limit of a day (docs/providers/simplefin.md, Limits); people keep half of it. */
const perDay = {
  calls: 24,
  windowMs: dayMs,
  reserve: 12,
  isByClock: true,
  isDurable: true,
} as const

export const simplefinFacts = {
  name: 'SimpleFIN',
  secondFactor:
    'Open the page of your SimpleFIN server and sign in to the bank there; then refresh the connection here.',
  covers: 'Banks in the United States and Canada, by SimpleFIN Bridge; any other SimpleFIN server',
  countries: ['US', 'CA'],
  category: 'banking',
  defaultCurrency: 'USD',
  // A person may have two sign-ins at one bank: each is a connection of its own.
  oneConsentPerInstitution: false,
  hasUnstableIds: true,
  budget: perDay,
  // Requests about one account have a limit of their own, of unconfirmed size.
  accountBudget: perDay,
  scheduledReadHours: 24,
  // The newest window alone, which everything shares; a longer absence reads older ones.
  laterLookBackDays: 43,
  isOpen: true,
  olderRows: {
    days: 60,
    words:
      'a bank mostly gives the SimpleFIN server rows of 60 to 90 days before it was connected there, and the server keeps what it has read since',
  },
  endsConsents: false,
  whenInvalidated:
    'Your SimpleFIN server gives no data: its subscription has ended, the access was disabled, or the bank asks you to sign in again. Look at the page of the server: renew the subscription or the sign-in there, then press Refresh here. Reconnect it with a new setup token where the access was disabled; your programs keep the same ids.',
  personal: {
    name: 'SimpleFIN',
    source: 'on the page of your SimpleFIN server: create a setup token for a new app',
    asks: {},
    fixed: {},
    tokens: {
      setupToken: {
        variable: 'SIMPLEFIN_TOKEN',
        flag: 'simplefin-token',
        asks: 'setup token or access URL',
      },
    },
  },
  linkFields: {
    setupToken: {
      flag: 'setup-token',
      value: 'X',
      help: 'a setup token, or the access URL that one was claimed for',
      isSecret: true,
      // A setup token is the base64 of such an address.
      begins: ['https://', 'http://', 'aHR0cHM6Ly', 'aHR0cDovL'],
      onPage: {
        name: 'setupToken',
        label: 'Setup token',
        hint: 'A long text of letters and digits; an access URL works too',
      },
    },
  },
  settings: {
    baseUrl: 'SIMPLEFIN_BASE_URL',
    required: {},
    optional: {},
    fallbackFields: {},
    preset: { allowPrivate: 'SIMPLEFIN_ALLOW_PRIVATE' },
  },
  sandboxPort: 4050,
} as const satisfies ProviderFacts
