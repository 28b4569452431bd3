// Additions to the theme for keyboards and screen readers: a table or code that is wider than the
// page can be scrolled by keys, and each list of pages has a name of its own.
'use strict'

for (const list of document.querySelectorAll('nav.md-nav[aria-labelledby]')) {
  const label = document.getElementById(list.getAttribute('aria-labelledby'))
  if (label) {
    list.removeAttribute('aria-labelledby')
    list.setAttribute('aria-label', `Pages: ${label.textContent.trim()}`)
  }
}

// Markdown has no table without a head.
for (const head of document.querySelectorAll('.md-typeset thead')) {
  const empty = [...head.querySelectorAll('th')].filter((cell) => cell.textContent.trim() === '')
  if (empty.length === head.querySelectorAll('th').length) head.remove()
  else empty.forEach((cell) => cell.replaceWith(document.createElement('td')))
}

// The theme wraps tables, and adds buttons to code, when it has started. It makes code that can be
// scrolled reachable where there is a mouse only.
const complete = () => {
  for (const wrap of document.querySelectorAll('.md-typeset__scrollwrap:not([tabindex])')) {
    wrap.tabIndex = 0
    wrap.setAttribute('role', 'group')
    wrap.setAttribute('aria-label', 'Table')
  }
  for (const code of document.querySelectorAll('pre > code:not([tabindex])')) {
    if (code.scrollWidth > code.clientWidth) code.tabIndex = 0
  }
  document.querySelectorAll('.md-code__nav').forEach((buttons, index) => {
    const label = `Code block ${index + 1}`
    if (buttons.getAttribute('aria-label') !== label) buttons.setAttribute('aria-label', label)
  })
}
new MutationObserver(complete).observe(document.body, { childList: true, subtree: true, attributeFilter: ['tabindex'] })
new ResizeObserver(complete).observe(document.body)
complete()
