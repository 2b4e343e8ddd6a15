/** The guides of `docs/` as pages, as Markdown and as a list for language models. */
import assert from 'node:assert/strict'
import { readdir, readFile } from 'node:fs/promises'
import { after, test } from 'node:test'
import { request } from 'undici'
import { startPages } from './world.ts'

const world = await startPages()
after(() => world.close())

async function ask(path: string) {
  const answer = await request(world.service.baseUrl + path)
  const text = await answer.body.text()
  return { status: answer.statusCode, type: String(answer.headers['content-type']), text }
}

async function names(): Promise<string[]> {
  const files = await readdir(new URL('../../../docs/', import.meta.url), { recursive: true })
  return files.filter((file) => file.endsWith('.md')).map((file) => file.slice(0, -3))
}

test('the list has one word for title and heading', async () => {
  const { text } = await ask('/guides')
  const [, heading = ''] = /<h1[^>]*>([^<]+)<\/h1>/.exec(text) ?? []
  assert.ok(text.includes(`<title>${heading} · Tributary</title>`), heading)
})

test('every document is a guide, for visitors too, and every link of it leads somewhere', async () => {
  const pages = new Map<string, string>([['/guides', (await ask('/guides')).text]])
  for (const name of await names()) {
    const path = `/guides/${name}`
    const page = await ask(path)
    assert.deepEqual([page.status, page.type], [200, 'text/html; charset=utf-8'], path)
    assert.match(page.text, /<a href="\/guides">All guides<\/a>/)
    pages.set(path, page.text)
    const twin = await ask(`${path}.md`)
    assert.deepEqual([twin.status, twin.type], [200, 'text/markdown; charset=utf-8'])
    assert.match(twin.text, /^# /m)
  }
  const lost: string[] = []
  for (const [path, text] of pages) {
    const article = /<article class="guide">.*<\/article>/s.exec(text)?.[0] ?? ''
    for (const [, href = ''] of article.matchAll(/href="([^"]+)"/g)) {
      if (/^https?:/.test(href)) continue
      const [page = '', anchor] = (href.startsWith('#') ? `${path}${href}` : href).split('#')
      if (page.includes('/files/')) {
        if ((await ask(page)).status !== 200) lost.push(`${path}: ${href}`)
        continue
      }
      const target = pages.get(page)
      const isThere = anchor === undefined || target?.includes(`id="${anchor}"`) === true
      if (target === undefined || !isThere) lost.push(`${path}: ${href}`)
    }
  }
  assert.deepEqual(lost, [])
})

test('the files that a recipe names are downloads, as they are in the repository', async () => {
  for (const name of ['google-sheets.gs.js', 'grafana-dashboard.json', 'n8n-webhook.json']) {
    const path = `/guides/recipes/files/${name}`
    const answer = await request(world.service.baseUrl + path)
    assert.equal(answer.headers['content-disposition'], `attachment; filename="${name}"`)
    const file = await readFile(
      new URL(`../../../docs/recipes/files/${name}`, import.meta.url),
      'utf8',
    )
    assert.equal(await answer.body.text(), file)
  }
  assert.match(
    (await ask('/guides/recipes/n8n')).text,
    /href="\/guides\/recipes\/files\/n8n-webhook.json"/,
  )
  assert.equal((await ask('/guides/recipes/files/../../openapi.json')).status, 404)
})

test('a guide that does not exist, and a path that leads out of the folder, are not found', async () => {
  for (const path of [
    '/guides/nothing',
    '/guides/../README',
    '/guides/%2e%2e/README.md',
    '/guides/',
  ])
    assert.equal((await ask(path)).status, 404, path)
})

test('the list for language models has a summary and leads to the Markdown of every guide of the index', async () => {
  const list = await ask('/llms.txt')
  assert.deepEqual([list.status, list.type], [200, 'text/plain; charset=utf-8'])
  assert.match(list.text, /^# Tributary\n\n> A self-hosted, read-only window/)
  const links = [...list.text.matchAll(/\]\(([^)]+)\)/g)].map(([, link = '']) => link)
  assert.ok(links.length > 25, `${links.length} links`)
  for (const link of links) {
    const { origin, pathname } = new URL(link)
    assert.equal(origin, world.service.baseUrl)
    assert.equal((await ask(pathname)).status, 200, link)
  }
})
