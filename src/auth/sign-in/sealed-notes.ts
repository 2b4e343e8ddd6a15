/**
 * What a browser holds for us for a while, in a cookie or in a hidden field: sealed for one purpose, bound to
 * whom it belongs, and void after its time. Nothing of it is stored here.
 */
import { z } from 'zod'
import type { Clock } from '#kernel/time.ts'
import { openOrNull, type Sealer } from '#store/seal.ts'

interface NotesOptions {
  readonly sealer: Pick<Sealer, 'seal' | 'open'>
  readonly clock: Clock
}

/** The notes of one purpose. `shape`: what one says; their time is added to it. */
export function defineNotes<Shape extends z.ZodRawShape>(
  purpose: string,
  lifeMs: number,
  shape: Shape,
) {
  const content = z.strictObject(shape)
  const timed = z.strictObject({ until: z.int() })
  return {
    /** Text for a cookie or a field. @param until the end, where an earlier note goes on. */
    seal(
      { sealer, clock }: NotesOptions,
      binding: string,
      note: z.input<typeof content>,
      until = clock.now() + lifeMs,
    ): string {
      const bytes = Buffer.from(JSON.stringify({ ...note, until }), 'utf8')
      return Buffer.from(sealer.seal(purpose, binding, bytes)).toString('base64url')
    },
    /** Null: there is none, it has expired, is bound to something else or is damaged. */
    open({ sealer, clock }: NotesOptions, binding: string, text: string | null) {
      if (text === null) return null
      const sealed = Buffer.from(text, 'base64url')
      const bytes = openOrNull(() => sealer.open(purpose, binding, sealed, null))
      if (bytes === null) return null
      const { until: end, ...rest }: Record<string, unknown> = JSON.parse(
        Buffer.from(bytes).toString('utf8'),
      )
      const { until } = timed.parse({ until: end })
      return clock.now() < until ? { ...content.parse(rest), until } : null
    },
  }
}
