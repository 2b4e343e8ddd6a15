/** What each magic user shows at Enable Banking; nobody is there who is not named here. */
import type { Shows } from '../shows.ts'

export const enablebankingShows: Shows = {
  healthy:
    'a bank in Finland, three accounts, thirteen months; 90 days once the first hour is over',
  history: '5,400 transactions within 90 days, in pages of ten with an empty one among them',
  expired: 'the session has ended: it cannot be linked, and the answer says what to do',
  throttled: '429: the bank’s calls of the day are used up, wait six hours',
  malformed: 'an amount with a comma, every fourth day',
  pending: 'a purchase a day, `PDNG` until noon UTC',
  foreign:
    'an account whose currency is `XXX`, in SEK, and a card that has an `OTHR` balance alone',
  twins: 'two equal purchases every third day, with and without the balance after them',
  numbers: 'IBANs and card numbers, masked to four characters',
  reissued: 'both ids of every row are new at every read',
  positional: 'ids by the place in their day, which is missing on the first day',
  period: 'more than 90 days are refused without a border, and in another form',
}
