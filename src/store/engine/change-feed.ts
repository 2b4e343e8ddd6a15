/**
 * Notifies the listeners of this process of committed changes and of due work. It stores nothing and
 * guarantees no order. A listener that throws is logged and affects neither the other listeners nor the
 * writer.
 */
import type { StoreLog } from '../log.ts'

type Listener<News> = (news: News) => void

export interface Feed<News> {
  /** Returns a function that unsubscribes. */
  subscribe(listener: Listener<News>): () => void
  emit(news: News): void
}

/** `message`: the log line for a listener that throws. */
export function makeFeed<News>(log: StoreLog, message: string): Feed<News> {
  // Each subscription is its own object, so that the same function may be subscribed twice.
  const subscriptions = new Set<{ readonly listener: Listener<News> }>()
  return {
    subscribe(listener) {
      const subscription = { listener }
      subscriptions.add(subscription)
      return () => {
        subscriptions.delete(subscription)
      }
    },
    emit(news) {
      for (const { listener } of subscriptions) {
        try {
          listener(news)
        } catch (error) {
          log({ level: 'error', message, error })
        }
      }
    },
  }
}
