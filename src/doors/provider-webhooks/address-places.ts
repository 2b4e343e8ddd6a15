/**
 * Places for webhooks whose bodies are complete, while they are handled: their number bounds the memory that
 * unauthenticated senders can occupy, and no address can take all of them.
 */

export interface AddressPlaces {
  /** Null when no place is free; otherwise a function that releases the place once. */
  take(address: string): (() => void) | null
}

export function makeAddressPlaces(limits: {
  readonly inAll: number
  readonly ofAddress: number
}): AddressPlaces {
  const held = new Map<string, number>()
  let inAll = 0
  return {
    take(address) {
      const own = held.get(address) ?? 0
      if (inAll >= limits.inAll || own >= limits.ofAddress) return null
      inAll += 1
      held.set(address, own + 1)
      let isHeld = true
      return () => {
        if (!isHeld) return
        isHeld = false
        inAll -= 1
        const left = (held.get(address) ?? 1) - 1
        if (left === 0) held.delete(address)
        else held.set(address, left)
      }
    },
  }
}
