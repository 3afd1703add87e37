"""Writes small DICOM series of all encodings, and what SimpleITK reads in them: affine, and values with i fastest; and
X-ray pictures, and what pydicom makes of their windows.

Run with the peers of deps/peers.txt: python make_dicom.py. Made with SimpleITK 2.5.7, pydicom 3.0.2, pyjpegls 1.5.1,
pylibjpeg-openjpeg 2.6.0, python-gdcm 3.2.6 and NumPy 2.4.6.
"""

import json
import pathlib
import shutil

import gdcm
import numpy
import pydicom
import SimpleITK
from pydicom import uid
from pydicom.pixels import apply_windowing

HERE = pathlib.Path(__file__).parent
SLICES = 3
SIZE, LARGER = (12, 16), (33, 32)  # rows and columns; the encoder of JPEG 2000 wants 32
CT, CR = "1.2.840.10008.5.1.4.1.1.2", "1.2.840.10008.5.1.4.1.1.1"


def picture(stored, bits, signed, syntax=uid.ExplicitVRLittleEndian, photometric="MONOCHROME2"):
    dataset = pydicom.Dataset()
    dataset.file_meta = pydicom.dataset.FileMetaDataset()
    dataset.file_meta.TransferSyntaxUID = syntax
    dataset.PatientName, dataset.PatientID = "Nobody^At All", "none"
    dataset.Rows, dataset.Columns = stored.shape
    dataset.SamplesPerPixel, dataset.PhotometricInterpretation = 1, photometric
    dataset.BitsAllocated, dataset.BitsStored, dataset.HighBit = 8 if bits <= 8 else 16, bits, bits - 1
    dataset.PixelRepresentation = int(signed)
    dtype = f"<{'i' if signed else 'u'}{dataset.BitsAllocated // 8}"
    dataset.PixelData = stored.astype(dtype).tobytes()
    return dataset


def compress_by_gdcm(path, syntax, lossy):
    reader = gdcm.ImageReader()
    reader.SetFileName(str(path))
    assert reader.Read()
    change = gdcm.ImageChangeTransferSyntax()
    change.SetTransferSyntax(gdcm.TransferSyntax(syntax))
    codec = gdcm.JPEGCodec()
    if lossy:
        codec.SetLossless(False)
        codec.SetQuality(95)
        change.SetUserCodec(codec)
    change.SetInput(reader.GetImage())
    assert change.Change(), path
    writer = gdcm.ImageWriter()
    writer.SetFileName(str(path))
    writer.SetFile(reader.GetFile())
    writer.SetImage(change.GetOutput())
    assert writer.Write()


def tissue(random, bits, signed, size):
    """Smooth, with noise, over the whole range but for its ends."""
    most = 2 ** (bits - 1 if signed else bits) - 1
    least = -most - 1 if signed else 0
    rows, columns = numpy.mgrid[:size[0], :size[1]]
    wave = numpy.sin(rows / 3 + random.uniform(0, 6)) * numpy.cos(columns / 4) * 0.4 + 0.5
    return numpy.clip(least + (most - least) * wave + random.normal(size=wave.shape) * 20, least, most).round()


def make_series(name, seed, bits=16, signed=True, syntax=uid.ExplicitVRLittleEndian, slope=1, intercept=-1024, by_gdcm=None,
                lossy=False, size=SIZE, **compression):
    random = numpy.random.default_rng(seed)
    folder = HERE / "dicom" / name
    folder.mkdir(parents=True)
    turn, _ = numpy.linalg.qr(random.normal(size=(3, 3)))
    row, column = turn[0], turn[1]
    normal = numpy.cross(row, column)
    start, spacing, step = random.normal(size=3) * 100, random.uniform(0.5, 1, size=2), random.uniform(0.6, 3)
    series, study = uid.generate_uid(entropy_srcs=[name]), uid.generate_uid(entropy_srcs=[name, "study"])
    paths = []
    for index in range(SLICES):
        stored = tissue(random, bits, signed, size)
        implicit = syntax if syntax == uid.ImplicitVRLittleEndian else uid.ExplicitVRLittleEndian
        dataset = picture(stored, bits, signed, implicit)
        dataset.SOPClassUID, dataset.SOPInstanceUID = CT, uid.generate_uid(entropy_srcs=[name, str(index)])
        dataset.StudyInstanceUID, dataset.SeriesInstanceUID, dataset.Modality = study, series, "CT"
        dataset.InstanceNumber = (7 * index) % SLICES + 1
        dataset.ImagePositionPatient = [f"{value:.8g}" for value in start + index * step * normal]
        dataset.ImageOrientationPatient = [f"{value:.10f}" for value in (*row, *column)]
        dataset.PixelSpacing = [f"{value:.6g}" for value in spacing]
        dataset.RescaleSlope, dataset.RescaleIntercept = str(slope * (1 + index)), str(intercept)
        path = folder / f"{(index + 1) % SLICES}.dcm"  # in another order than along the normal
        if syntax.is_compressed and by_gdcm is None:
            dataset.compress(syntax, generate_instance_uid=False, **compression)
        dataset.save_as(path, enforce_file_format=True)
        if by_gdcm is not None:
            compress_by_gdcm(path, by_gdcm, lossy)
        paths.append(path)
        read = SimpleITK.GetArrayFromImage(SimpleITK.ReadImage(str(path), SimpleITK.sitkFloat64))[0]
        difference = numpy.abs(read - (stored * slope * (1 + index) + intercept)).max() / slope / (1 + index)
        assert difference <= (2 ** bits / 10 if lossy or compression else 1e-3), (name, difference)
    return {"series": name, **read_series(paths)}


def read_series(paths):
    reader = SimpleITK.ImageSeriesReader()
    reader.SetFileNames([str(path) for path in paths])
    reader.SetOutputPixelType(SimpleITK.sitkFloat64)
    image = reader.Execute()
    direction = numpy.array(image.GetDirection()).reshape(3, 3) * image.GetSpacing()
    affine = numpy.concatenate([direction, numpy.array(image.GetOrigin())[:, None]], axis=1)
    affine[:2] *= -1  # from left and back to right and front
    values = SimpleITK.GetArrayFromImage(image).astype(numpy.float32)
    return {"sizes": list(image.GetSize()), "affine": affine.tolist(), "values": values.ravel().tolist()}


def make_xray(name, seed, bits=12, photometric="MONOCHROME2", window=None, function=None, slope=None, syntax=None):
    stored = tissue(numpy.random.default_rng(seed), bits, False, SIZE if syntax is None else LARGER)
    dataset = picture(stored, bits, False, photometric=photometric)
    dataset.SOPClassUID, dataset.SOPInstanceUID = CR, uid.generate_uid(entropy_srcs=[name])
    dataset.Modality = "CR"
    if slope is not None:
        dataset.RescaleSlope, dataset.RescaleIntercept = slope
    black, white = numpy.array([0, 2 ** bits - 1]) * float(slope[0] if slope else 1) + float(slope[1] if slope else 0)
    values = stored * float(slope[0] if slope else 1) + float(slope[1] if slope else 0)
    if window is not None:
        dataset.WindowCenter, dataset.WindowWidth = window
        if function is not None:
            dataset.VOILUTFunction = function
        values = apply_windowing(values, dataset)
    grey = (values - black) / (white - black)
    grey = 1 - grey if photometric == "MONOCHROME1" else grey
    if syntax is not None:
        dataset.compress(syntax, generate_instance_uid=False)
    dataset.save_as(HERE / "dicom" / f"{name}.dcm", enforce_file_format=True)
    return {"file": f"{name}.dcm", "rows": stored.shape[0], "columns": stored.shape[1],
            "values": grey.astype(numpy.float32).ravel().tolist()}


def main():
    shutil.rmtree(HERE / "dicom", ignore_errors=True)
    lossless, extended = gdcm.TransferSyntax.JPEGLosslessProcess14_1, gdcm.TransferSyntax.JPEGExtendedProcess2_4
    series = [
        make_series("explicit", 1, slope=1.5),
        make_series("implicit", 2, bits=12, signed=False, syntax=uid.ImplicitVRLittleEndian),
        make_series("bytes", 3, bits=8, signed=False, slope=8),
        make_series("rle", 4, syntax=uid.RLELossless),
        make_series("jpeg_lossless", 5, bits=12, signed=False, by_gdcm=lossless),
        make_series("jpeg_lossless_signed", 6, bits=16, signed=True, by_gdcm=lossless),
        make_series("jpeg_extended", 7, bits=12, signed=False, by_gdcm=extended, lossy=True),
        make_series("jpeg_ls", 8, bits=12, signed=False, syntax=uid.JPEGLSLossless),
        make_series("jpeg_ls_near", 9, bits=16, signed=False, syntax=uid.JPEGLSNearLossless, jls_error=3),
        make_series("jpeg_2000", 10, syntax=uid.JPEG2000Lossless, size=LARGER),
        make_series("jpeg_2000_unsigned", 11, bits=12, signed=False, syntax=uid.JPEG2000Lossless, size=LARGER),
        make_series("jpeg_2000_lossy", 12, bits=12, signed=False, syntax=uid.JPEG2000, size=LARGER, j2k_cr=[3]),
    ]
    (HERE / "dicom_series.json").write_text(json.dumps(series) + "\n")
    xrays = [
        make_xray("xray_range", 21),
        make_xray("xray_window", 22, photometric="MONOCHROME1", window=("1800", "1200")),
        make_xray("xray_exact", 23, window=("100", "300"), function="LINEAR_EXACT", slope=("0.1", "-20")),
        make_xray("xray_jpeg_2000", 24, bits=16, photometric="MONOCHROME1", syntax=uid.JPEG2000Lossless),
    ]
    (HERE / "dicom_xray.json").write_text(json.dumps(xrays) + "\n")


if __name__ == "__main__":
    main()
