/**
 * Tells the listeners of this process whose rows changed. It keeps nothing and orders nothing; a listener that throws
 * is logged and never keeps the others, or the writer, from going on.
 */
import type { StoreChange } from '../port.ts'
import type { StoreLog } from './engine.ts'

type Listener = (change: StoreChange) => void

export interface ChangeFeed {
  /** Returns the unsubscriber. */
  subscribe(listener: Listener): () => void
  emit(change: StoreChange): void
}

export function makeChangeFeed(log: StoreLog): ChangeFeed {
  // Each subscription is an object of its own: the same function may be subscribed twice.
  const subscriptions = new Set<{ readonly listener: Listener }>()
  return {
    subscribe(listener) {
      const subscription = { listener }
      subscriptions.add(subscription)
      return () => {
        subscriptions.delete(subscription)
      }
    },
    emit(change) {
      for (const { listener } of subscriptions) {
        try {
          listener(change)
        } catch (error) {
          log({ level: 'error', message: 'a listener of store changes failed', error })
        }
      }
    },
  }
}
