/** What each magic user shows at Up; nobody is there who is not named here. */
import { later, type Shows } from '../shows.ts'

export const upShows: Shows = {
  healthy: 'two accounts, a home loan and a joint account, eighteen months; a closed saver',
  history: '5,400 transactions, three at the same moment',
  expired: 'the token is refused: it cannot be linked, and the answer says what to do',
  revoked: `${later}: the token is refused, which Up does not tell from an expired one: \`invalidated\``,
  mfa: later,
  slow: '1.5 s for each page',
  throttled: '429 without a wait: until the next full hour',
  outage: '500',
  malformed: 'text and integer of an amount disagree, every fourth day',
  pending: 'a purchase every two hours, held for three hours',
  foreign: 'AUD alone; purchases in IDR, JPY and KWD, converted',
  twins: 'two equal purchases every third day, ids of their own',
  numbers: '21 savers without numbers; those in names are masked',
  joint: 'the joint account of `healthy`, with the same ids',
}
