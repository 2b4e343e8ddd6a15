/**
 * The order in which passwords are hashed: a few at once, since each takes 19 MiB and a core, in turns that
 * are fair by address (`#kernel/fair-queue.ts`). Known are operators, and browsers that signed in before.
 */
import {
  type FairQueue,
  type FairQueueOptions,
  type FairTurn,
  makeFairQueue,
} from '#kernel/fair-queue.ts'

/** Whose password it is: `from` is the address as counted, or the user whose browser is known. */
export type HashingTurn = FairTurn

/** Too many people are signing in at once. */
export class PasswordsBusyError extends Error {
  override readonly name = 'PasswordsBusyError'
}

/** `run` throws PasswordsBusyError when the queue is full or the wait too long. */
export type HashingQueue = FairQueue

export type HashingQueueOptions = Omit<FairQueueOptions, 'toBusyError'>

const defaults: HashingQueueOptions = {
  maxAtOnce: 4,
  maxAddresses: 1000,
  maxPerAddress: 64,
  maxWaitMs: 10_000,
}

const busyMessages = {
  full: 'too many sign-ins at once',
  late: 'a sign-in waited too long in the hashing queue',
} as const

export function makeHashingQueue(given: Partial<HashingQueueOptions> = {}): HashingQueue {
  const toBusyError = (why: keyof typeof busyMessages) => new PasswordsBusyError(busyMessages[why])
  return makeFairQueue({ ...defaults, ...given, toBusyError })
}
