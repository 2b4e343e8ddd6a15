/** What each magic user shows at Akahu; nobody is there who is not named here. */
import { later, type Shows } from '../shows.ts'

export const akahuShows: Shows = {
  healthy: 'four logins, nine accounts, eighteen months',
  history: '5,400 transactions',
  expired: 'accounts INACTIVE: old rows are still served, balances are null',
  revoked: `${later}: a withdrawn login is not listed, so there is nothing to link`,
  mfa: later,
  slow: '1.5 s for each page',
  throttled: '429 with `Retry-After: 17`',
  outage: '500',
  malformed: 'an amount that is no number, every fourth day',
  pending: 'a purchase every two hours, posted three hours later',
  foreign: 'USD, AUD and GBP accounts, purchases converted',
  decimals: 'JPY, KWD, BHD, and NZD finer than a cent',
  twins: 'two equal purchases every third day, ids of their own',
  numbers: 'eight accounts',
}
