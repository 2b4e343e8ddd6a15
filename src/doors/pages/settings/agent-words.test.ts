import assert from 'node:assert/strict'
import { test } from 'node:test'
import { describeAgent } from './agent-words.ts'

test('browsers and systems are named, also where one names the browser that it is built on', () => {
  const webkit = 'AppleWebKit/537.36 (KHTML, like Gecko)'
  for (const [agent, words] of [
    [
      'Mozilla/5.0 (Windows NT 10.0; Win64; x64; rv:145.0) Gecko/20100101 Firefox/145.0',
      'Firefox on Windows',
    ],
    [`Mozilla/5.0 (X11; Linux x86_64) ${webkit} Chrome/142.0 Safari/537.36`, 'Chrome on Linux'],
    [
      `Mozilla/5.0 (Linux; Android 16) ${webkit} Chrome/142.0 Mobile Safari/537.36`,
      'Chrome on Android',
    ],
    [
      `Mozilla/5.0 (Windows NT 10.0) ${webkit} Chrome/142.0 Safari/537.36 Edg/142.0`,
      'Edge on Windows',
    ],
    [
      'Mozilla/5.0 (iPhone; CPU iPhone OS 26_1 like Mac OS X) AppleWebKit/605.1 Version/26.1 Mobile/15E148 Safari/604.1',
      'Safari on iPhone',
    ],
    [
      'Mozilla/5.0 (Macintosh; Intel Mac OS X 10_15_7) AppleWebKit/605.1 Version/26.1 Safari/605.1',
      'Safari on macOS',
    ],
  ] as const) {
    assert.equal(describeAgent(agent), words)
  }
})

test('what names no browser is shown as it is, bounded; nothing is unknown', () => {
  assert.equal(describeAgent('curl/8.14.1'), 'curl/8.14.1')
  assert.equal(describeAgent('x'.repeat(256)).length, 60)
  assert.equal(describeAgent(null), 'Unknown browser')
})
