/** Reads the payloads that are asked for in one turn of the event loop together, whatever their endpoint. */
import { setImmediate as nextTurn } from 'node:timers/promises'
import type { EventId } from '#kernel/ids.ts'
import type { EventStore, SealedBody } from '#store/ports/events.ts'

/** Undefined: it is destroyed, or its key is missing. @throws the errors of the store. */
export type ReadBody = (id: EventId) => Promise<SealedBody | undefined>

type Bodies = ReadonlyMap<EventId, SealedBody>

/** Bounds one read, which on SQLite blocks the process: of 64 KiB each at the most. */
const maxAtOnce = 64

interface Batch {
  readonly ids: Set<EventId>
  readonly bodies: Promise<Bodies>
}

/** Makes the reader. A body is not kept: it belongs to whoever asked for it. */
export function makeReadBody(events: Pick<EventStore, 'readBodies'>): ReadBody {
  let open: Batch | null = null

  function begin(): Batch {
    const ids = new Set<EventId>()
    const read = async () => {
      await nextTurn()
      if (open?.ids === ids) open = null
      return events.readBodies([...ids])
    }
    return { ids, bodies: read() }
  }
  return async (id) => {
    if (open === null || open.ids.size >= maxAtOnce) open = begin()
    const { ids, bodies } = open
    ids.add(id)
    return (await bodies).get(id)
  }
}
