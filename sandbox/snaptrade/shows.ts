/** What each magic user shows at SnapTrade; nobody is there who is not named here. */
import { later, type Shows } from '../shows.ts'

export const snaptradeShows: Shows = {
  healthy: 'a broker and a coin exchange, every kind of trade and position',
  history: '5,400 trades',
  personal: 'a Personal API key: three brokers, one account with 5,400 trades',
  expired: 'connection disabled: old rows are still served',
  revoked: `${later}: a withdrawn connection is not listed, so there is nothing to link`,
  mfa: later,
  slow: '1.5 s for each page and for holdings',
  throttled: '429 with `X-RateLimit-Reset: 17`; holdings too',
  outage: '500; holdings too',
  malformed: 'units in words every third day; a position without units',
  foreign: 'USD, AUD and NZD in one account',
  decimals: 'JPY and KWD',
  twins: 'every trade twice: the second id ends in `-2`',
  fractions: 'slices of shares and coins',
  unpriced: 'three positions: no price, no cost, neither',
  numbers: 'nine accounts',
}
