"""data prepare ct makes of DICOM series, compressed by others' tools, the voxels that SimpleITK reads in them."""

import json
import os
import pathlib
import struct
import subprocess
import unittest

from paceline_process import RunTest, paceline

PYTHON = pathlib.Path(os.environ.get("PACELINE_PEERS", "")) / "bin" / "python"
SIDE = 32

# Series of a cube of 2 mm voxels, one patient for each compression; prints what SimpleITK reads, z first, and its affine.
MAKE_SERIES = """
import json, pathlib, sys
import gdcm, numpy, pydicom, SimpleITK
from pydicom import uid
SIDE = 32
folder = pathlib.Path(sys.argv[1])
random = numpy.random.default_rng(7)


def save_slice(path, z, stored, syntax, series):
    dataset = pydicom.Dataset()
    dataset.file_meta = pydicom.dataset.FileMetaDataset()
    dataset.file_meta.TransferSyntaxUID = uid.ExplicitVRLittleEndian
    dataset.SOPClassUID, dataset.SOPInstanceUID = "1.2.840.10008.5.1.4.1.1.2", uid.generate_uid()
    dataset.Modality, dataset.SeriesInstanceUID, dataset.PatientName = "CT", series, "Roe^Richard"
    dataset.Rows, dataset.Columns = stored.shape
    dataset.SamplesPerPixel, dataset.PhotometricInterpretation = 1, "MONOCHROME2"
    dataset.BitsAllocated, dataset.BitsStored, dataset.HighBit, dataset.PixelRepresentation = 16, 16, 15, 1
    dataset.ImagePositionPatient, dataset.ImageOrientationPatient = [-31, -41, z], [1, 0, 0, 0, 1, 0]
    dataset.PixelSpacing, dataset.RescaleSlope, dataset.RescaleIntercept = [2, 2], "1", "-24"
    dataset.PixelData = stored.astype("<i2").tobytes()
    if syntax is not None and syntax != uid.JPEGLosslessSV1:
        dataset.compress(syntax)
    dataset.save_as(path, enforce_file_format=True)
    if syntax == uid.JPEGLosslessSV1:
        reader = gdcm.ImageReader()
        reader.SetFileName(str(path))
        assert reader.Read()
        change = gdcm.ImageChangeTransferSyntax()
        change.SetTransferSyntax(gdcm.TransferSyntax(gdcm.TransferSyntax.JPEGLosslessProcess14_1))
        change.SetInput(reader.GetImage())
        assert change.Change()
        writer = gdcm.ImageWriter()
        writer.SetFileName(str(path))
        writer.SetFile(reader.GetFile())
        writer.SetImage(change.GetOutput())
        assert writer.Write()


expected = []
for number, syntax in enumerate((None, uid.RLELossless, uid.JPEGLosslessSV1, uid.JPEGLSLossless, uid.JPEG2000Lossless)):
    series = folder / f"patient-{number}"
    series.mkdir()
    uids = uid.generate_uid()
    wave = numpy.sin(numpy.arange(SIDE) / (3 + number))
    volume = (wave[:, None, None] * wave[None, :, None] + wave) * 900 + random.normal(size=(SIDE,) * 3) * 30
    for z in range(SIDE):
        save_slice(series / f"{(7 * z) % SIDE}.dcm", 2 * z, volume[z].round(), syntax, uids)
    files = SimpleITK.ImageSeriesReader.GetGDCMSeriesFileNames(str(series))
    image = SimpleITK.ReadImage(files, SimpleITK.sitkInt16)
    assert image.GetSpacing() == (2, 2, 2)
    # From left and back to right and front: both axes are mirrored, and the first voxel is the last.
    expected.append(numpy.clip(SimpleITK.GetArrayFromImage(image)[:, ::-1, ::-1], -1024, 32767).ravel().tolist())
print(json.dumps(expected))
"""


class DicomPeers(RunTest):
    def test_series_are_read_as_simpleitk_reads_them(self):
        scans, output = self.root / "scans", self.root / "volumes"
        scans.mkdir()
        made = subprocess.run([str(PYTHON), "-c", MAKE_SERIES, str(scans)], capture_output=True, text=True)
        if "No module named" in made.stderr:
            self.skipTest(made.stderr.splitlines()[-1])
        self.assertEqual(made.returncode, 0, made.stderr)
        expected = sorted(json.loads(made.stdout))
        self.assertEqual(len(expected), 5)
        result = paceline("data", "prepare", "ct", scans, output, "--fov-mm", 2 * SIDE, "--sides", SIDE)
        self.assertEqual(result.code, 0, str(result))
        self.assertNotIn("Roe", str(result))
        manifest = json.loads((output / "ct_manifest.json").read_text())
        volumes = []
        for patient in manifest["patients"]:
            self.assertEqual(patient["affine"], [[2, 0, 0, -31], [0, 2, 0, -21], [0, 0, 2, 0]])
            content = (output / patient["split"] / f"volume_{SIDE}.npy").read_bytes()
            volumes.append(list(struct.unpack_from(f"<{SIDE ** 3}h", content, 128 + patient["index"] * SIDE ** 3 * 2)))
        self.assertEqual(sorted(volumes), expected)


if __name__ == "__main__":
    unittest.main()
