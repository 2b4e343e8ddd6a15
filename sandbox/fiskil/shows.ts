/** What each magic user shows at Fiskil; nobody is there who is not named here. */
import { later, type Shows } from '../shows.ts'

export const fiskilShows: Shows = {
  healthy: 'two banks, seven accounts, eighteen months',
  history: '5,400 transactions',
  expired: 'consent past its end: no accounts, reads are 400 `upstream_bad_request`',
  revoked: 'at once: a withdrawn consent is still listed there',
  mfa: later,
  slow: '1.5 s for each page',
  throttled: '429 with `Retry-After: 17`',
  outage: '500',
  malformed: 'an amount with a comma, every fourth day',
  pending: 'a purchase every two hours, posted three hours later',
  foreign: 'USD, EUR and GBP accounts',
  decimals: 'JPY, KWD, BHD, and AUD finer than a cent',
  twins: 'two equal purchases every third day, ids of their own',
  numbers: 'nine accounts',
}
