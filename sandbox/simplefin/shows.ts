/** What each magic user shows at SimpleFIN; nobody is there who is not named here. */
import type { Shows } from '../shows.ts'

export const simplefinShows: Shows = {
  healthy: 'two banks, four accounts in USD and CAD, thirteen months',
  history: '5,400 transactions, in windows of 44 days',
  expired: 'the access was disabled: it cannot be linked, and the answer says what to do',
  malformed: 'an amount with a comma, every fourth day',
  pending: 'a purchase a day, pending until noon UTC: `posted: 0`, or marked',
  foreign: 'a currency that is an address (shown as XXX), and one in EUR',
  twins: 'two equal purchases every third day: the same content, two ids',
  reissued: 'every row has another id at every read',
  numbers: 'numbers in the names of accounts, masked to four digits or hidden',
}
