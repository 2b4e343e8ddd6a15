/**
 * One deadline for all commands in flight on a connection: a timer of its own for each would cost more than
 * sending it. Commands are answered in the order in which they were sent, so only the age of the oldest
 * counts. It fails commands and decides nothing else.
 */

/** A command that was sent. */
export interface Pending {
  /** It was answered, or failed. */
  readonly isSettled: boolean
  reject(error: Error): void
}

export interface CommandDeadline {
  /** Call for each command, in the order of sending. */
  watch(command: Pending): void
}

/** The message of the error with which a late command fails. */
export const timedOut = 'Command timed out'

/** A power of two, so that positions wrap by a mask. */
const firstSlots = 64

/** Commands in flight in order: a ring that is written over, since a set would be rebuilt all the time. */
interface Flying {
  slots: (Pending | undefined)[]
  sentAt: Float64Array
  first: number
  count: number
  /** How many were taken out so far. */
  ended: number
  /** A timer is set, or a judgement is due. */
  isWatched: boolean
}

/** Commands that are not answered within `timeoutMs` are rejected. */
export function makeCommandDeadline(timeoutMs: number): CommandDeadline {
  const flying: Flying = {
    slots: new Array(firstSlots).fill(undefined),
    sentAt: new Float64Array(firstSlots),
    first: 0,
    count: 0,
    ended: 0,
    isWatched: false,
  }

  function arm(): void {
    dropSettled(flying)
    flying.isWatched = flying.count > 0
    if (!flying.isWatched) return
    const leftMs = timeoutMs - (performance.now() - (flying.sentAt[flying.first] ?? 0))
    if (leftMs > 0) return void setTimeout(arm, Math.ceil(leftMs))
    // Timers run before sockets are read: after a pause of this process the answer may be waiting there. So
    // one poll phase passes before a command is called late, and another one as long as answers arrive.
    const { ended } = flying
    setImmediate(() => judge(ended))
  }

  function judge(endedBefore: number): void {
    dropSettled(flying)
    if (flying.ended > endedBefore && flying.count > 0) {
      const { ended } = flying
      setImmediate(() => judge(ended))
      return
    }
    const sentBefore = performance.now() - timeoutMs
    while (flying.count > 0 && (flying.sentAt[flying.first] ?? 0) <= sentBefore) {
      const late = flying.slots[flying.first]
      takeFirst(flying)
      if (late?.isSettled === false) late.reject(new Error(timedOut))
    }
    arm()
  }

  return {
    watch(command) {
      dropSettled(flying)
      if (command.isSettled) return
      append(flying, command, performance.now())
      if (!flying.isWatched) arm()
    },
  }
}

function dropSettled(flying: Flying): void {
  while (flying.count > 0 && flying.slots[flying.first]?.isSettled === true) takeFirst(flying)
}

function takeFirst(flying: Flying): void {
  flying.slots[flying.first] = undefined
  flying.first = (flying.first + 1) & (flying.slots.length - 1)
  flying.count -= 1
  flying.ended += 1
}

function append(flying: Flying, command: Pending, sentAt: number): void {
  if (flying.count === flying.slots.length) grow(flying)
  const at = (flying.first + flying.count) & (flying.slots.length - 1)
  flying.slots[at] = command
  flying.sentAt[at] = sentAt
  flying.count += 1
}

function grow(flying: Flying): void {
  const { slots, sentAt, first } = flying
  const size = slots.length
  flying.slots = new Array(2 * size).fill(undefined)
  flying.sentAt = new Float64Array(2 * size)
  for (let index = 0; index < size; index += 1) {
    const at = (first + index) & (size - 1)
    flying.slots[index] = slots[at]
    flying.sentAt[index] = sentAt[at] ?? 0
  }
  flying.first = 0
}
