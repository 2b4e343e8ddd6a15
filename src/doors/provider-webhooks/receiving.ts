/**
 * The webhooks whose bodies are being received. Their number bounds the memory that unauthenticated senders
 * can occupy. A genuine webhook is complete within moments, so at the limit a new one ends the one that has
 * taken longest: slow senders do not prevent others.
 */

export interface Receiving {
  begin(address: string): Reception
}

export interface Reception {
  /** Resolves when another webhook needs the room. */
  readonly ended: Promise<'too_slow'>
  /** Nothing more is received. */
  end(): void
}

interface Limits {
  readonly inAll: number
  readonly ofAddress: number
}

export function makeReceiving(limits: Limits): Receiving {
  /** How to end each one of an address, the oldest first. */
  const open = new Map<string, Set<() => void>>()
  let inAll = 0

  function makeRoom(address: string): void {
    const own = open.get(address)
    if (own !== undefined && own.size >= limits.ofAddress) endOldest(own)
    else if (inAll >= limits.inAll) endOldest(findMost())
  }

  /** Those of the address that has the most. */
  function findMost(): ReadonlySet<() => void> {
    let most: ReadonlySet<() => void> = new Set()
    for (const ends of open.values()) if (ends.size > most.size) most = ends
    return most
  }

  function endOldest(ends: ReadonlySet<() => void>): void {
    const [oldest] = ends
    oldest?.()
  }

  return {
    begin(address) {
      makeRoom(address)
      const { promise, resolve } = Promise.withResolvers<'too_slow'>()
      const own = open.get(address) ?? new Set()
      open.set(address, own)
      const end = () => {
        if (!own.delete(giveUp)) return
        inAll -= 1
        if (own.size === 0) open.delete(address)
      }
      const giveUp = () => {
        end()
        resolve('too_slow')
      }
      own.add(giveUp)
      inAll += 1
      return { ended: promise, end }
    },
  }
}
