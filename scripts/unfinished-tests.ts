/**
 * A reporter for node:test that says nothing but which tests were running when the run was interrupted: a
 * time limit then names them, not only itself.
 */
interface Progress {
  readonly type: string
  readonly data: { readonly name: string; readonly file?: string; readonly nesting: number }
}

export default async function* listUnfinished(events: AsyncIterable<Progress>) {
  const running = new Map<string, string>()
  for await (const { type, data } of events) {
    const key = `${data.file} ${data.nesting} ${data.name}`
    if (type === 'test:dequeue') running.set(key, `not ended: ${data.file ?? ''}: ${data.name}\n`)
    if (type === 'test:complete') running.delete(key)
    if (type === 'test:interrupted') yield* running.values()
  }
}
