"""The HTML page of a release; like the release, it sees only what was paid for.

The files:

    base.py     what a kind of release has to say about its page, and what may be asked
    render.py   the document: header, figure, table, card, downloads
    content.py  the parts that differ from kind to kind; escaped text, tables, links
    picture.py  curves, surfaces and contours as SVG
"""

from dpfda.page.render import page

__all__ = ["page"]
