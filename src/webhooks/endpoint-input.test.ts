import assert from 'node:assert/strict'
import { test } from 'node:test'
import { makeEndpointInput } from './endpoint-input.ts'

const shut = makeEndpointInput(false)
const open = makeEndpointInput(true)

test('a URL is stored in the form that is requested, whatever was typed', () => {
  for (const [typed, kept] of [
    ['https://example.com', 'https://example.com/'],
    ['HTTPS://EXAMPLE.com:443/Hook?a=b', 'https://example.com/Hook?a=b'],
    [' https://@example.com/ ', 'https://example.com/'],
    ['https:\\\\example.com\\@10.0.0.1/', 'https://example.com/@10.0.0.1/'],
    ['https://bücher.example/ü', 'https://xn--bcher-kva.example/%C3%BC'],
    ['https://example.com/\u202Egnp.exe', 'https://example.com/%E2%80%AEgnp.exe'],
    ['https://134744072/', 'https://8.8.8.8/'],
    ['https://example.com/a/../b', 'https://example.com/b'],
  ] as const)
    assert.equal(shut.parse({ url: typed }).url, kept, typed)
})

test('a URL that cannot be requested, or is too long in its normal form, is refused with the reason', () => {
  for (const [url, reason] of [
    ['https://example.com/a b', /^must not hold blanks or control characters$/],
    ['https://example.com/\tb', /^must not hold blanks or control characters$/],
    ['https://example.com/#part', /^must not hold a fragment/],
    [`https://example.com/${'ü'.repeat(2000)}`, /^must have at most 2048 characters when encoded$/],
    [`https://example.com/${'x'.repeat(2048)}`, /^must have at most 2048 characters$/],
    ['https://user:word@example.com/', /^must not hold a user name or password$/],
    ['https://10.0.0.1/', /WEBHOOK_ALLOW_PRIVATE$/],
  ] as const) {
    const issue = shut.safeParse({ url }).error?.issues[0]?.message ?? ''
    assert.match(issue, reason, url)
  }
  assert.equal(open.parse({ url: 'http://10.0.0.1:8080/x' }).url, 'http://10.0.0.1:8080/x')
})
