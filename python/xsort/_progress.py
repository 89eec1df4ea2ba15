"""The bar of `progress=True`, by tqdm."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from ._xsort import Progress


class Bar:
    """A bar for each phase of a job."""

    def __init__(self) -> None:
        try:
            from tqdm.auto import tqdm  # type: ignore[import-untyped, unused-ignore]
        except ImportError:
            raise ModuleNotFoundError(
                "progress=True shows a bar of tqdm, which is missing: "
                "install it (pip install tqdm), or pass a callable",
                name="tqdm",
            ) from None
        self._tqdm = tqdm
        self._bar: Any = None
        self._phase: str | None = None

    def __call__(self, progress: Progress) -> None:
        if self._bar is None or self._phase != progress.phase:
            self.close()
            self._phase = progress.phase
            self._bar = self._tqdm(
                total=progress.bytes, desc=progress.phase, unit="B", unit_scale=True
            )
        self._bar.update(progress.done_bytes - self._bar.n)

    def close(self) -> None:
        if self._bar is not None:
            self._bar.close()
            self._bar = None
