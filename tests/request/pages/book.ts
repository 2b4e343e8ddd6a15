/**
 * Keeps the book of one person: each step is compared with what `GET /admin/audit` and the activity page have
 * more than before.
 */
import assert from 'node:assert/strict'
import { request } from 'undici'
import type { AuditRow } from '#store/ports/audit.ts'
import type { Jar } from '#tests/support/jar.ts'
import type { PagesWorld, Person } from './world.ts'

/** An entry: action, actor, address, and what the activity page says of it. */
export type Line = readonly [string, string, string | null, string]

export interface Book {
  /** Does it a second after the step before, and demands exactly these entries, in any order. */
  step<Result>(what: string, act: () => Promise<Result>, expected: readonly Line[]): Promise<Result>
}

export async function readAdminAudit({ service }: PagesWorld, userId: string) {
  const query = `user=${userId}&limit=1000`
  const answer = await request(`${service.adminUrl}/admin/audit?${query}`, {
    headers: { authorization: `Bearer ${service.adminToken}` },
  })
  return ((await answer.body.json()) as { data: AuditRow[] }).data
}

/** Who, what and from where of the newest entries on the page. */
async function readShown(jar: Jar, count: number): Promise<string[][]> {
  const { text } = await jar.get('/activity')
  const rows = text.split('<tr role="row">').slice(2, 2 + count)
  return rows.map((row) =>
    [...row.matchAll(/<td[^>]*>(.*?)<\/td>/gs)]
      .slice(1)
      .map(([, cell = '']) => cell.replace(/<[^>]*>/g, '').trim()),
  )
}

const names: Readonly<Record<string, string>> = {
  user: 'You',
  admin: 'The operator',
  system: 'The service',
}

/** What is booked of visitors, who need not be the person. */
const anybodys = /^account\.(?:sign-in-refused|asked-for-password)$/

/** @param reader a browser that is signed in as the person during all steps. */
export async function openBook(world: PagesWorld, person: Person, reader: Jar): Promise<Book> {
  const known = new Set((await readAdminAudit(world, person.id)).map(({ id }) => id))
  return {
    async step(what, act, expected) {
      world.service.clock.advance(1000)
      const result = await act()
      const news = (await readAdminAudit(world, person.id)).filter(({ id }) => !known.has(id))
      for (const { id } of news) known.add(id)
      assert.deepEqual(
        news.map(({ action, actor, address }) => [action, actor, address].join(' ')).sort(),
        expected.map(([action, actor, address]) => [action, actor, address].join(' ')).sort(),
        what,
      )
      const shown = await readShown(reader, news.length)
      const told = expected.map(([action, actor, address, sentence]) => [
        sentence,
        names[actor] ?? (anybodys.test(action) ? 'Somebody' : 'You'),
        address ?? '—',
      ])
      assert.deepEqual(shown.sort(), told.sort(), what)
      return result
    },
  }
}
